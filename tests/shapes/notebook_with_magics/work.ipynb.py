%matplotlib inline
!pip install -q torch tiktoken
# %%
import torch
files = !ls *.txt
print(len(files))
torch.softmax?
?torch.exp
# %%
%%time
{{attention/simplified.py}}
# %%
%%bash
echo "class CausalAttention" > causal.py
# %%
%%html
<p>Self-attention</p>
# %%
%%capture output
{{attention/trainable.py}}
# %%
%timeit -n 3 softmax(torch.rand(4))
%time weights = attention_weights(torch.rand(6, 3))
result = %who
if len(weights) == 6:
    !echo "six tokens"
    %precision 3
# %%
{{attention/causal.py}}
# %%
{{attention/multi_head.py}}
# %%
%env CUDA_VISIBLE_DEVICES=0
%cd ..
text = "100 % of !sums are ? one"
