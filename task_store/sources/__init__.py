"""Where tasks come from: one module for each form, all giving candidates to import."""
