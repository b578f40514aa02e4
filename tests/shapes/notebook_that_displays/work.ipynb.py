from IPython.display import HTML, Markdown, clear_output, display
from IPython import get_ipython
import ipywidgets as widgets

get_ipython().run_line_magic("load_ext", "tensorboard")
ip = get_ipython()
if ip is not None and "google.colab" in str(ip):
    print("on a cloud's machine")
# %%
{{attention/simplified.py}}
# %%
{{attention/trainable.py}}
# %%
display(HTML("<b>causal</b>"), Markdown("*mask*"))
clear_output(wait=True)


@widgets.interact(size=(1, 10))
def show(size=3):
    display(causal_mask(size))
# %%
{{attention/causal.py}}
# %%
display(causal_mask(4))
_
# %%
{{attention/multi_head.py}}
