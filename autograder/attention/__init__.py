"""All that knows attention: checks, misconceptions, the worked example and the figures."""
