"""Does it happen in training: data, models, self-pretraining, finetuning, experiments, records and probes."""
