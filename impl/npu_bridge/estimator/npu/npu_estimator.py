"""NPUEstimator: trains, evaluates and predicts in sessions that run on the device."""

from __future__ import annotations

import os
import random
import string
from typing import Any, Callable, Dict, List, Optional, Tuple

from npu_bridge._names import module_getattr
from npu_bridge._tensorflow import estimator, v1
from npu_bridge.estimator.npu import npu_scope
from npu_bridge.estimator.npu.npu_config import NPURunConfig, npu_session_config
from npu_bridge.estimator.npu.npu_hook import NPUBroadcastGlobalVariablesHook
from npu_bridge.estimator.npu.npu_optimizer import TAILING
from npu_reference.options.classes import OptionTypeError, OptionValueError
from npu_reference.runtime import ranks
from npu_reference.runtime.observing.log import LOG
from npu_reference.runtime.sessions.iterations_per_run import repeated

__all__ = ["NPUEstimator", "NPUEstimatorSpec"]

if estimator is not None:
    _Estimator: Any = estimator.Estimator
    _EstimatorSpec: Any = estimator.EstimatorSpec
else:
    from npu_bridge.estimator.npu.plain_estimator import PlainEstimator as _Estimator
    from npu_bridge.estimator.npu.plain_estimator import PlainEstimatorSpec as _EstimatorSpec


class NPUEstimator(_Estimator):
    """An Estimator on the device, configured by an NPURunConfig.

    Args:
        model_fn: ``model_fn(features, labels, mode, params, config)``, the last three optional, returning an
            NPUEstimatorSpec or a tf.estimator.EstimatorSpec.
        model_dir: where checkpoints go; when NPURunConfig names one too, they must be equal. Where neither does, a new
            folder ``model_dir_`` and ten characters in the current one (T54).
        config: an NPURunConfig.
        params: handed to ``model_fn``.
        job_start_file: for starting jobs in a cluster; there is none, so only an empty one is allowed.
        warm_start_from: checkpoint to take variables from; else the one that RESTORE_FROM names, if it is set (T55).
        use_tpu, train_batch_size, eval_batch_size, predict_batch_size: of a TPUEstimator, which scripts were written
            for; ``train_batch_size`` becomes ``params["batch_size"]`` where there is none, the others have no effect.

    With ``iterations_per_loop`` above 1 every session.run of a training does so many steps on the device: the global
    step advances by as many, hooks are called once, and what they see is of the last one (docs/runtime.md).

    Raises:
        OptionTypeError: ``config`` is missing or no NPURunConfig.
        OptionValueError: two different ``model_dir``, a ``job_start_file``, or a strategy in ``distribute``.
    """

    def __init__(
        self,
        model_fn: Optional[Callable[..., Any]] = None,
        model_dir: Optional[str] = None,
        config: Optional[NPURunConfig] = None,
        params: Optional[Dict[str, Any]] = None,
        job_start_file: str = "",
        warm_start_from: Any = None,
        use_tpu: bool = False,
        train_batch_size: Optional[int] = None,
        eval_batch_size: Optional[int] = None,
        predict_batch_size: Optional[int] = None,
    ) -> None:
        if use_tpu:
            raise OptionValueError("OPTION_VALUE", "use_tpu", "there is an NPU, and no TPU.", "Give False.")
        if eval_batch_size is not None or predict_batch_size is not None:
            LOG.warning("NPUEstimator: eval_batch_size and predict_batch_size have no effect; batch in the input_fn")
        if train_batch_size is not None:
            params = {"batch_size": train_batch_size, **(params or {})}
        if not isinstance(config, NPURunConfig):
            what = "is missing" if config is None else f"is a {type(config).__name__}"
            raise OptionTypeError("OPTION_TYPE", "config", f"the configuration {what}.", "Give an NPURunConfig.")
        if not callable(model_fn):
            raise OptionTypeError("OPTION_TYPE", "model_fn", "it is no function.", "Give a function.")
        if job_start_file:
            raise OptionValueError("OPTION_VALUE", "job_start_file", "clusters are not simulated.", "Leave it empty.")
        if config.distribute is not None:
            raise OptionValueError(
                "OPTION_VALUE", "distribute", "training with parameter servers is not simulated yet.", "Leave it out."
            )
        if model_dir and config.model_dir and str(model_dir) != str(config.model_dir):
            raise OptionValueError(
                "OPTION_CONFLICT", "model_dir", f"{str(model_dir)!r} here, {str(config.model_dir)!r} in NPURunConfig."
            )
        super().__init__(
            model_fn=model_fn,
            model_dir=model_dir or config.model_dir or _new_model_dir(),
            config=config.replace(session_config=npu_session_config(config)),
            params=params,
            warm_start_from=warm_start_from or os.environ.get("RESTORE_FROM") or None,
        )

    @staticmethod
    def _assert_members_are_not_overridden(obj: Any) -> None:
        """tf.estimator refuses subclasses with an own ``train``; ours checks its arguments and calls it."""

    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Any = None,
        steps: Optional[int] = None,
        max_steps: Optional[int] = None,
        saving_listeners: Any = None,
    ) -> Any:
        """Train for ``steps`` steps or up to ``max_steps``; their number must fill whole loops (T18)."""
        self._check_loops("steps", 0, steps)
        self._check_loops("max_steps", 0 if max_steps is None else self._steps_done(), max_steps)
        hooks = [*(hooks or []), _TailingHook(self.config.is_tailing_optimization)]
        if ranks.rank_size() > 1:
            hooks.insert(0, NPUBroadcastGlobalVariablesHook(0, ranks.rank_id()))
        return super().train(input_fn, hooks=hooks, steps=steps, max_steps=max_steps, saving_listeners=saving_listeners)

    def _check_loops(self, name: str, start: int, end: Optional[int]) -> None:
        loop = self.config.iterations_per_loop
        if end is None or end <= start or (end - start) % loop == 0:
            return
        count = f"{end}" if start == 0 else f"{end - start}, which are left of {end} after {start},"
        raise OptionValueError(
            "OPTION_VALUE",
            name,
            f"{count} is not a multiple of iterations_per_loop, which is {loop}.",
            f"Give {start} and a multiple of {loop}." if start else f"Give a multiple of {loop}.",
        )

    def _steps_done(self) -> int:
        """The global step of the checkpoint that a training goes on from."""
        latest = self.latest_checkpoint()
        try:
            return int(v1.train.load_variable(latest, v1.GraphKeys.GLOBAL_STEP)) if latest else 0
        except v1.errors.NotFoundError:  # nothing has counted steps
            return 0

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> Any:
        """What the model_fn returns, with a train_op that does the iterations of a loop."""
        spec = super()._call_model_fn(features, labels, mode, config)
        loop = self.config.iterations_per_loop
        if mode != "train" or loop == 1:
            return spec
        return spec._replace(train_op=repeated(spec.train_op, loop))


def _new_model_dir() -> str:
    """A folder that is not there yet, of no name that a script could rely on."""
    drawn = random.SystemRandom()
    while True:
        name = "model_dir_" + "".join(drawn.sample(string.ascii_letters + string.digits, 10))
        path = os.path.join(os.getcwd(), name)
        if not os.path.lexists(path):
            return path


class NPUEstimatorSpec(_EstimatorSpec):
    """What a model_fn returns: an EstimatorSpec, and a ``host_call`` besides.

    ``host_call`` is ``(function, tensors)`` with a list or a dict of tensors: the operations that ``function``
    returns for them are built on the host and run with every training or evaluation step.
    """

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
        host_call: Optional[Tuple[Callable[..., Any], Any]] = None,
    ) -> NPUEstimatorSpec:
        if host_call is not None:
            hook = _HostCallHook(_host_operations(host_call))
            training_hooks = [*(training_hooks or []), hook]
            evaluation_hooks = [*(evaluation_hooks or []), hook]
        return super().__new__(
            cls,
            mode=mode,
            predictions=predictions,
            loss=loss,
            train_op=train_op,
            eval_metric_ops=eval_metric_ops,
            export_outputs=export_outputs,
            training_chief_hooks=training_chief_hooks,
            training_hooks=training_hooks,
            scaffold=scaffold,
            evaluation_hooks=evaluation_hooks,
            prediction_hooks=prediction_hooks,
        )


def _host_operations(host_call: Tuple[Callable[..., Any], Any]) -> Any:
    try:
        function, tensors = host_call
    except (TypeError, ValueError):
        function, tensors = None, None
    if not callable(function) or not isinstance(tensors, (list, tuple, dict)):
        raise OptionTypeError(
            "OPTION_TYPE", "host_call", "it is no pair of a function and tensors.", "Give (function, list or dict)."
        )
    with npu_scope.without_npu_compile_scope():
        return function(**tensors) if isinstance(tensors, dict) else function(*tensors)


class _TailingHook(v1.train.SessionRunHook):
    """Compares the optimizer's tailing optimization with the configuration's before training begins (T20)."""

    def __init__(self, configured: bool) -> None:
        self._configured = configured

    def begin(self) -> None:
        for told in v1.get_collection(TAILING):
            if told != self._configured:
                raise OptionValueError(
                    "OPTION_CONFLICT",
                    "is_tailing_optimization",
                    f"it is {bool(told)} in NPUOptimizer and {self._configured} in NPURunConfig.",
                    "Give both the same.",
                )


class _HostCallHook(v1.train.SessionRunHook):
    """Runs the operations of a host call with every step; opens the summary writers they need, and flushes them.

    TensorFlow collects the operators that open writers of ``contrib.summary``, and leaves it to the loop to run them.
    """

    _OPENING = "_SUMMARY_WRITER_V2"  # TensorFlow's collection of operators that open summary writers

    def __init__(self, operations: Any) -> None:
        self._operations = operations
        self._opening: List[Any] = []
        self._flushing: List[Any] = []

    def begin(self) -> None:
        self._opening = v1.get_collection(self._OPENING)
        with npu_scope.without_npu_compile_scope():
            self._flushing = [v1.raw_ops.FlushSummaryWriter(writer=one.inputs[0]) for one in self._opening]

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._opening:
            session.run(self._opening)

    def before_run(self, run_context: Any) -> Any:
        return v1.train.SessionRunArgs(self._operations)

    def end(self, session: Any) -> None:
        if self._flushing:
            session.run(self._flushing)


__getattr__ = module_getattr(__name__)
