"""From evidence and explanations to points, and what students and teachers read about them."""
