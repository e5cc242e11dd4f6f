//! What is asked of a device: by its name, the environment and a configuration file.
