"""Aufgabe 1: Aufmerksamkeit ohne Gewichte (Bezeichnungen wie im Buch: ω, α, z)."""
import torch


def attention_scores(query, inputs):
    ω = torch.stack([torch.dot(x_i, query) for x_i in inputs])  # Skalarprodukte
    return ω


def softmax(scores):
    # größten Wert abziehen, sonst läuft exp über
    m = torch.max(scores, dim=-1, keepdim=True).values
    zähler = torch.exp(scores - m)
    nenner = torch.sum(zähler, dim=-1, keepdim=True)
    return zähler / nenner


def context_vector(query, inputs):
    α = softmax(attention_scores(query, inputs))
    z = α @ inputs
    return z


def attention_weights(inputs):
    ω = inputs @ inputs.T
    α = softmax(ω)
    return α


def context_vectors(inputs):
    α = attention_weights(inputs)
    return α @ inputs
