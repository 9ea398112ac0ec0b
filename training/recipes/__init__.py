"""How each task of the Long-Range Arena is trained, at three scales, every value with its source."""
