"""What the repository's ``run_mindformer.py`` does: train by a file of settings.

    python -m lamella run train.py llama.yaml ...
"""

import sys


def main() -> None:
    import yaml  # these come with MindFormers, which tests don't need
    from mindformers import MindFormerConfig, Trainer
    from mindformers.core.context import build_context

    config = MindFormerConfig(sys.argv[1])
    for setting in sys.argv[2:]:
        path, value = setting.split("=", 1)
        *folders, name = path.split(".")
        place = config
        for folder in folders:
            place = place[folder]
        value = yaml.safe_load(value)
        place[name] = MindFormerConfig(**value) if isinstance(value, dict) else value
    config.train_dataset_task.dataset_config = config.train_dataset
    build_context(config)
    trainer = Trainer(config)
    if config.run_mode == "finetune":
        trainer.finetune(finetune_checkpoint=config.load_checkpoint)
    else:
        trainer.train()


if __name__ == "__main__":
    main()
