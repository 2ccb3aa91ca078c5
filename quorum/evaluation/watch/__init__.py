"""Is a promise still kept? Answers that a server gives are sampled, labelled by people, and watched for a break."""
