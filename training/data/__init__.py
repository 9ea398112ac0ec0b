"""Tasks, one module each: a frozen dataclass of choices with ``load() -> TaskData``."""
