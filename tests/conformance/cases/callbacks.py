"""Callbacks that look at a value, over epochs in which it goes up and down."""

from ..spec import case

PATIENT = [
    *(f"EarlyStopping({monitor!r}, {delta}, {patience}, mode={mode!r}, baseline={base}, "
      f"restore_best_weights={restore})"
      for monitor, delta, patience, mode, base, restore in (
          ("eval_loss", 0, 3, "auto", None, True), ("loss", 0.1, 2, "auto", None, False),
          ("acc", 0, 4, "auto", None, True), ("acc", 0.2, 3, "min", None, True),
          ("eval_loss", -0.1, 5, "max", None, False), ("eval_loss", 0, 2, "auto", 1.2, True),
          ("acc", 0.05, 3, "max", None, False),
          ("eval_loss", 0, 1, "min", 0.5, False), ("mae", 0, 3, "auto", None, True),
          ("none", 0, 1, "auto", None, True))),
    *(f"ReduceLROnPlateau({monitor!r}, {factor}, {patience}, mode={mode!r}, min_delta={delta}, "
      f"cooldown={cool}, min_lr={low})"
      for monitor, factor, patience, mode, delta, cool, low in (
          ("eval_loss", 0.5, 2, "auto", 0.0001, 0, 0), ("acc", 0.9, 1, "auto", 0.1, 0, 0.1),
          ("loss", 0.3, 1, "min", 0, 3, 0), ("eval_loss", 0.7, 3, "max", -0.05, 1, 0.2),
          ("acc", 0.2, 0, "max", 0.3, 2, 0.05), ("mae", 0.5, 2, "auto", 0, 1, 0.0))),
    *(f"LearningRateScheduler(lambda rate, step: {rate})" for rate in (
        "rate * 0.9", "rate / (step + 1)", "rate if step % 3 else rate * 2")),
]
BODY = """made = ms.train.{call}
values = np.random.RandomState({seed}).rand(24, 3).round(1) + 1
net = nn.Dense(2, 1)
rates = nn.SGD(net.trainable_params(), 0.5)
about = ms.train.callback._InternalCallbackParam()
about.train_network, about.optimizer = net, rates
run, told = ms.train.RunContext(about), []
made.on_train_begin(run)
for epoch, (loss, accuracy, error) in enumerate(values, 1):
    about.cur_epoch_num, about.cur_step_num = epoch, 3 * epoch
    about.eval_results = dict(eval_loss=float(loss), acc=float(accuracy), mae=float(error))
    about.net_outputs = Tensor(loss, ms.float32)
    net.weight.set_data(Tensor([[epoch, epoch]], ms.float32))
    made.on_train_step_end(run)
    made.on_train_epoch_end(run)
    told.append([float(rates.learning_rate.asnumpy()), float(net.weight.asnumpy()[0, 0]),
                 getattr(made, "wait", 0), float(getattr(made, "best", 0)),
                 getattr(made, "cooldown_counter", 0), run.get_stop_requested()])
    if run.get_stop_requested():
        break
return told"""
CASES = [case(BODY.format(call=call, seed=seed)) for call in PATIENT for seed in (0, 1, 2)]
