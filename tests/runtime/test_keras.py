"""Keras with sessions: the session a script sets, and the one that Keras makes from a default config."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from tests.runtime.comparing import compare

keras = tf.keras

DATA = np.linspace(-1, 1, 48, dtype=np.float32).reshape(16, 3)
LABELS = (DATA.sum(axis=1, keepdims=True) > 0).astype(np.float32)


@pytest.fixture(autouse=True)
def fresh_keras():
    yield
    keras.backend.clear_session()


def network():
    model = keras.Sequential(
        [
            # No bias: normalization takes it out again, and Adam makes steps of what rounding leaves of its gradient.
            keras.layers.Dense(8, input_shape=(3,), use_bias=False, kernel_initializer=keras.initializers.Ones()),
            keras.layers.BatchNormalization(),
            keras.layers.Activation("relu"),
            keras.layers.Dropout(0.25, seed=3),
            keras.layers.Dense(1, activation="sigmoid", kernel_initializer=keras.initializers.Constant(0.1)),
        ]
    )
    model.compile(optimizer=keras.optimizers.Adam(0.05), loss="binary_crossentropy", metrics=["accuracy"])
    return model


def fitted(config):
    session = tf.Session(config=config, graph=tf.get_default_graph())
    keras.backend.set_session(session)
    with session.as_default():
        model = network()
        history = model.fit(DATA, LABELS, batch_size=4, epochs=2, shuffle=False, verbose=0)
        evaluated = model.evaluate(DATA, LABELS, verbose=0)
        predicted = model.predict(DATA, batch_size=5)
        weights = model.get_weights()
    session.close()
    return [np.float32(history.history["loss"]), np.float32(evaluated), predicted, weights]


def test_fit_evaluate_and_predict_on_a_session_that_was_set():
    runs = compare(fitted, rtol=2e-5)
    assert len(runs) > 10


def bias(labels, predictions):
    return keras.backend.mean(labels - predictions)


def test_custom_metrics_callbacks_and_weights():
    def scenario(config):
        session = tf.Session(config=config, graph=tf.get_default_graph())
        keras.backend.set_session(session)
        with session.as_default():
            inputs = keras.Input((3,))
            hidden = keras.layers.Lambda(lambda t: tf.nn.tanh(t))(inputs)
            model = keras.Model(inputs, keras.layers.Dense(1, kernel_initializer="ones")(hidden))
            model.compile(keras.optimizers.SGD(0.1), "mse", metrics=[bias])
            losses = []
            callback = keras.callbacks.LambdaCallback(on_batch_end=lambda n, logs: losses.append(float(logs["loss"])))
            model.fit(DATA, LABELS, batch_size=8, epochs=1, shuffle=False, verbose=0, callbacks=[callback])
            model.set_weights([weight * 2 for weight in model.get_weights()])
            outputs = keras.backend.function([inputs], [hidden, model.output])([DATA])
        session.close()
        return losses, [np.asarray(value) for value in outputs]

    compare(scenario, rtol=2e-5)


def test_train_on_batch():
    def scenario(config):
        session = tf.Session(config=config, graph=tf.get_default_graph())
        keras.backend.set_session(session)
        with session.as_default():
            model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,), kernel_initializer="ones")])
            model.compile("sgd", "mse")
            values = [float(np.ravel(model.train_on_batch(DATA[:4], LABELS[:4]))[0]) for _ in range(3)]
            values.append(float(np.ravel(model.test_on_batch(DATA, LABELS))[0]))
        session.close()
        return values

    compare(scenario, rtol=2e-5)
