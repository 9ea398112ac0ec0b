(* The two objectives as functions of the strength α of a score pattern (paper, section 5; theory.md, Notation).

   Definitions only.  The sample space is finite and weighted: a sample w holds the tokens X(w), an L × d matrix, and a
   label Y(w) of any type.  The weights need not be a probability; when they are, [expectation] is E.

     paper            here
     E f              expectation weight f
     X_i(w)           row i (tokens w)
     C_ij = E[X_i·X_j]        second_moment weight tokens i j
     o_i(α)           row i (output keys pattern X alpha)
     ω                pooling                       1 × L pooling weights; mean: 1/L each
     h(α) = Σ_i ω_i o_i(α)    pooled keys pattern pooling X alpha
     L_sup(α) = E[ℓ(h(α), Y)]                  label_loss …
     L_SPT(α) = (1/2L) Σ_i E‖X_i − o_i(α)‖²    reconstruction_loss …

   Checked by: coqc (theory/formal/prove.sh). *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals.
From Blindness Require Import Softmax.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory.
Local Open Scope ring_scope.

Section Objectives.
Variables (R : realType) (L d : nat).
Variables (sample : finType) (weight : sample -> R).
Variables (tokens : sample -> 'M[R]_(L, d)).

Definition expectation (f : sample -> R) : R := \sum_w weight w * f w.

Definition dot (u v : 'rV[R]_d) : R := \sum_c u 0 c * v 0 c.

Definition second_moment : 'M[R]_L := \matrix_(i, j) expectation (fun w => dot (row i (tokens w)) (row j (tokens w))).

Variables (keys : 'I_L -> {set 'I_L}) (pattern : 'M[R]_L).

Definition output (X : 'M[R]_(L, d)) (alpha : R) : 'M[R]_(L, d) := attention keys pattern alpha *m X.

Definition reconstruction_loss (alpha : R) : R :=
  (2 * L%:R)^-1 * \sum_i expectation (fun w =>
    let error := row i (tokens w) - row i (output (tokens w) alpha) in dot error error).

Definition mean_pooling : 'rV[R]_L := const_mx L%:R^-1.

Variable pooling : 'rV[R]_L.

Definition pooled (X : 'M[R]_(L, d)) (alpha : R) : 'rV[R]_d := pooling *m output X alpha.

Variables (label : Type) (labels : sample -> label) (loss : 'rV[R]_d -> label -> R).

Definition label_loss (alpha : R) : R := expectation (fun w => loss (pooled (tokens w) alpha) (labels w)).

End Objectives.

Arguments mean_pooling {R L}.
