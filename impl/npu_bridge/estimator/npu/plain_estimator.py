"""A small Estimator over MonitoredTrainingSession, for TensorFlow 2.16 and later, which have none.

It does what scripts of the documents use: training with checkpoints, hooks and a step limit, evaluation with
metrics, prediction. Distribution, export and warm-start rules of tf.estimator are not there.
"""

from __future__ import annotations

import inspect
import tempfile
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from npu_bridge._tensorflow import v1
from npu_reference.options.classes import OptionTypeError, OptionValueError

__all__ = ["PlainEstimator", "PlainEstimatorSpec"]

#: The modes of tf.estimator.ModeKeys, and what a spec needs in each.
_NEEDS = {"train": ("loss", "train_op"), "eval": ("loss",), "infer": ("predictions",)}


class _SpecFields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: Dict[str, Tuple[Any, Any]]
    export_outputs: Any
    training_chief_hooks: Tuple[Any, ...]
    training_hooks: Tuple[Any, ...]
    scaffold: Any
    evaluation_hooks: Tuple[Any, ...]
    prediction_hooks: Tuple[Any, ...]


class PlainEstimatorSpec(_SpecFields):
    """The fields of tf.estimator.EstimatorSpec; ``mode`` is ``train``, ``eval`` or ``infer``."""

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metric_ops: Any = None,
        export_outputs: Any = None,
        training_chief_hooks: Any = None,
        training_hooks: Any = None,
        scaffold: Any = None,
        evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
    ) -> PlainEstimatorSpec:
        given = {"predictions": predictions, "loss": loss, "train_op": train_op}
        if mode not in _NEEDS:
            raise OptionValueError("OPTION_VALUE", "mode", f"there is no mode {mode!r}.", "Modes: train, eval, infer.")
        for name in _NEEDS[mode]:
            if given[name] is None:
                raise OptionValueError("OPTION_VALUE", name, f"it is missing, and mode {mode!r} needs it.")
        return super().__new__(
            cls,
            mode,
            predictions,
            loss,
            train_op,
            dict(eval_metric_ops or {}),
            export_outputs,
            tuple(training_chief_hooks or ()),
            tuple(training_hooks or ()),
            scaffold,
            tuple(evaluation_hooks or ()),
            tuple(prediction_hooks or ()),
        )


class PlainEstimator:
    """Trains, evaluates and predicts with a ``model_fn``; every call builds its own graph and session."""

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: Optional[str] = None,
        config: Any = None,
        params: Optional[Dict[str, Any]] = None,
        warm_start_from: Optional[str] = None,
    ) -> None:
        self._model_fn = model_fn
        self.model_dir = str(model_dir or config.model_dir or tempfile.mkdtemp(prefix="model_dir_"))
        self.config = config.replace(model_dir=self.model_dir)
        self.params = dict(params or {})
        self._warm_start_from = warm_start_from

    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Any = None,
        steps: Optional[int] = None,
        max_steps: Optional[int] = None,
        saving_listeners: Any = None,
    ) -> PlainEstimator:
        """Train for ``steps`` more steps, or until the global step is ``max_steps``; else until the input ends."""
        if steps is not None and max_steps is not None:
            raise OptionValueError("OPTION_CONFLICT", "steps", "max_steps is given too.", "Give one of them.")
        for name, number in (("steps", steps), ("max_steps", max_steps)):
            if number is not None and number <= 0:
                raise OptionValueError("OPTION_VALUE", name, f"{number} is not positive.", "Give a positive int.")
        if max_steps is not None and self._trained_steps() >= max_steps:
            return self
        with self._graph():
            spec, input_hooks = self._build(input_fn, "train")
            every_hook = [*input_hooks, *(hooks or []), *spec.training_hooks, v1.train.NanTensorHook(spec.loss)]
            if steps is not None or max_steps is not None:
                every_hook.append(v1.train.StopAtStepHook(num_steps=steps, last_step=max_steps))
            self._warm_start()
            scaffold = self._scaffold(spec)
            chief_hooks = [*spec.training_chief_hooks, *self._saver_hooks(scaffold, saving_listeners)]
            with v1.train.MonitoredTrainingSession(
                checkpoint_dir=self.model_dir,
                scaffold=scaffold,
                hooks=every_hook,
                chief_only_hooks=chief_hooks,
                save_checkpoint_secs=None,
                save_checkpoint_steps=None,
                save_summaries_steps=self.config.save_summary_steps or None,
                save_summaries_secs=None,
                config=self.config.session_config,
                log_step_count_steps=self.config.log_step_count_steps,
            ) as session:
                while not session.should_stop():
                    session.run([spec.train_op, spec.loss])
        return self

    def evaluate(
        self,
        input_fn: Callable[..., Any],
        steps: Optional[int] = None,
        hooks: Any = None,
        checkpoint_path: Optional[str] = None,
        name: Optional[str] = None,
    ) -> Dict[str, Any]:
        """Metric name to value over ``steps`` batches or the whole input, with ``loss`` and ``global_step``."""
        checkpoint = checkpoint_path or self.latest_checkpoint()  # none: initial values, as in tf.estimator
        with self._graph():
            spec, input_hooks = self._build(input_fn, "eval")
            metrics = dict(spec.eval_metric_ops)
            metrics.setdefault("loss", v1.metrics.mean(spec.loss))
            updates = [update for _, update in metrics.values()]
            values: Dict[str, Any] = {key: value for key, (value, _) in metrics.items()}
            values["global_step"] = v1.train.get_global_step()
            final = v1.train.FinalOpsHook(values)
            every_hook = [*input_hooks, *(hooks or []), *spec.evaluation_hooks, final]
            with self._reading_session(spec, checkpoint, every_hook) as session:
                done = 0
                while not session.should_stop() and (steps is None or done < steps):
                    session.run(updates)
                    done += 1
        return dict(final.final_ops_values)

    def predict(
        self,
        input_fn: Callable[..., Any],
        predict_keys: Any = None,
        hooks: Any = None,
        checkpoint_path: Optional[str] = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """The predictions for every example of the input, or for every batch; computed as they are asked for."""
        checkpoint = checkpoint_path or self.latest_checkpoint()  # none: initial values, as in tf.estimator
        with self._graph():
            spec, input_hooks = self._build(input_fn, "infer")
            fetches = spec.predictions
            if predict_keys is not None:
                wanted = [predict_keys] if isinstance(predict_keys, str) else list(predict_keys)
                fetches = {key: value for key, value in fetches.items() if key in wanted}
                if not fetches:
                    raise OptionValueError("OPTION_VALUE", "predict_keys", f"no prediction is called {wanted}.")
            every_hook = [*input_hooks, *(hooks or []), *spec.prediction_hooks]
            with self._reading_session(spec, checkpoint, every_hook) as session:
                while not session.should_stop():
                    batch = session.run(fetches)
                    if yield_single_examples:
                        yield from _examples(batch)
                    else:
                        yield batch

    def latest_checkpoint(self) -> Optional[str]:
        """Path of the newest checkpoint, or None."""
        return v1.train.latest_checkpoint(self.model_dir)

    def get_variable_names(self) -> List[str]:
        """Names of the variables in the newest checkpoint."""
        return [name for name, _ in v1.train.list_variables(self._checkpoint())]

    def get_variable_value(self, name: str) -> Any:
        """Value of one variable in the newest checkpoint."""
        return v1.train.load_variable(self._checkpoint(), name)

    def _graph(self) -> Any:
        graph = v1.Graph()
        graph.seed = self.config.tf_random_seed
        return graph.as_default()

    def _build(self, input_fn: Callable[..., Any], mode: str) -> Tuple[PlainEstimatorSpec, List[Any]]:
        v1.train.get_or_create_global_step()
        with v1.device("/cpu:0"):
            batch = _called(input_fn, mode=mode, params=self.params, config=self.config)
        hooks: List[Any] = []
        if isinstance(batch, (v1.data.Dataset, v1.data.Dataset.__mro__[1])):
            iterator = v1.data.make_initializable_iterator(batch)
            hooks.append(_IteratorHook(iterator.initializer))
            batch = iterator.get_next()
        features, labels = batch if isinstance(batch, (tuple, list)) and len(batch) == 2 else (batch, None)
        return self._call_model_fn(features, None if mode == "infer" else labels, mode, self.config), hooks

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> PlainEstimatorSpec:
        """What the model_fn returns."""
        spec = _called(self._model_fn, features, labels=labels, mode=mode, params=self.params, config=config)
        if not isinstance(spec, PlainEstimatorSpec):
            raise OptionTypeError(
                "OPTION_TYPE", "model_fn", f"it returned a {type(spec).__name__}.", "Return an NPUEstimatorSpec."
            )
        return spec

    def _scaffold(self, spec: PlainEstimatorSpec) -> Any:
        if spec.scaffold is not None:
            return spec.scaffold
        saver = v1.train.Saver(
            max_to_keep=self.config.keep_checkpoint_max,
            keep_checkpoint_every_n_hours=self.config.keep_checkpoint_every_n_hours,
            save_relative_paths=True,
        )
        return v1.train.Scaffold(saver=saver)

    def _saver_hooks(self, scaffold: Any, listeners: Any) -> List[Any]:
        seconds, steps = self.config.save_checkpoints_secs, self.config.save_checkpoints_steps
        if not seconds and not steps:
            return []
        return [
            v1.train.CheckpointSaverHook(
                self.model_dir, save_secs=seconds, save_steps=steps, scaffold=scaffold, listeners=listeners
            )
        ]

    def _reading_session(self, spec: PlainEstimatorSpec, checkpoint: Optional[str], hooks: List[Any]) -> Any:
        creator = v1.train.ChiefSessionCreator(
            scaffold=self._scaffold(spec), config=self.config.session_config, checkpoint_filename_with_path=checkpoint
        )
        return v1.train.MonitoredSession(session_creator=creator, hooks=hooks)

    def _checkpoint(self) -> str:
        found = self.latest_checkpoint()
        if found is None:
            raise OptionValueError(
                "OPTION_VALUE", "model_dir", f"{self.model_dir!r} holds no checkpoint.", "Train first."
            )
        return found

    def _trained_steps(self) -> int:
        latest = self.latest_checkpoint()
        return int(v1.train.load_variable(latest, v1.GraphKeys.GLOBAL_STEP)) if latest else 0

    def _warm_start(self) -> None:
        # A checkpoint of this very model wins over another one to start from.
        if self._warm_start_from and not self.latest_checkpoint():
            v1.train.warm_start(self._warm_start_from)


class _IteratorHook(v1.train.SessionRunHook):
    """Starts the input when the session is there."""

    def __init__(self, initializer: Any) -> None:
        self._initializer = initializer

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._initializer)


def _called(function: Callable[..., Any], *positional: Any, **optional: Any) -> Any:
    """Call ``function`` with those of the optional arguments that it has."""
    parameters = inspect.signature(function).parameters
    every = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    return function(*positional, **{key: value for key, value in optional.items() if every or key in parameters})


def _examples(batch: Any) -> Iterator[Any]:
    if not isinstance(batch, dict):
        yield from batch
        return
    size = min(len(value) for value in batch.values())
    for place in range(size):
        yield {key: value[place] for key, value in batch.items()}
