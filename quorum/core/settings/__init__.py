"""Where settings come from (`config_files`, `setting_sources`), and which values fit them (`setting_values`)."""
