"""The paper's experiments on the Long-Range Arena, each named after its table or figure."""
