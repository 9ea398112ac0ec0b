(* P1: Proposition 1 of the paper (section 5, appendix D), both halves, for every L ≥ 1 and every d.

   Full mask, mean pooling, a score pattern Δ whose columns sum to zero (Δ ∈ 𝓑):
     L_sup'(0) = 0                    for every loss that is Fréchet differentiable at h(0), whatever the labels and law;
     L_SPT'(0) = −(1/L²) ⟨Δ̄, C⟩_F.
   Symbols: Softmax.v and Objectives.v.  Both are instances of G1 (FirstOrder.v).  The paper centres the tokens; no step
   needs it.  Weaker than the paper: the sample space is finite (any size, any weights).

   Checked by: coqc (theory/formal/prove.sh). *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import mathcomp_extra boolp classical_sets functions reals ereal signed topology normedtype
  sequences derive realfun exp.
From Blindness Require Import Softmax Objectives FirstOrder.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.

Section Proposition1.
Variables (R : realType) (L : nat) (Delta : 'M[R]_L).
Hypothesis zero_column_sums : forall j, \sum_i Delta i j = 0.
Variables (sample : finType) (weight : sample -> R).

Local Notation Dbar := (centred full_mask Delta).

Lemma in_full_mask i k : k \in @full_mask L i.
Proof. by rewrite finset.in_setT. Qed.

Lemma full_mask_key_count i : #|@full_mask L i| = L.
Proof. by rewrite cardsT card_ord. Qed.

Lemma full_mask_has_keys i : (0 < #|@full_mask L i|)%N.
Proof. by rewrite full_mask_key_count; exact: leq_ltn_trans (ltn_ord i). Qed.

Lemma sum_all_keys (f : 'I_L -> R) i : \sum_(k in full_mask i) f k = \sum_k f k.
Proof. by apply: eq_bigl => k; exact: in_full_mask. Qed.

Lemma full_mask_centred_column_sums j : \sum_i Dbar i j = 0.
Proof.
rewrite (eq_bigr (fun i => Delta i j - (\sum_k Delta i k) / L%:R)) => [|i _]; last first.
  by rewrite mxE in_full_mask full_mask_key_count sum_all_keys.
by rewrite sumrB zero_column_sums sub0r -mulr_suml exchange_big /= big1 ?mul0r ?oppr0.
Qed.

Section Labels.
Variables (d' : nat).
Local Notation d := d'.+1.
Variables (tokens : sample -> 'M[R]_(L, d)) (label : Type) (labels : sample -> label).
Variables (loss : 'rV[R]_d -> label -> R).

Local Notation h := (pooled full_mask Delta mean_pooling).
Local Notation L_sup := (label_loss weight tokens full_mask Delta mean_pooling labels loss).

Theorem P1_supervised :
  (forall w, differentiable (loss^~ (labels w)) (h (tokens w) 0)) ->
  is_derive (0 : R) 1 L_sup 0.
Proof.
move=> loss_diff; apply: is_derive_eq (G1_supervised full_mask_has_keys weight loss_diff) _.
rewrite big1 // => j _; rewrite /pooled_key_weight.
rewrite (eq_bigr (fun i => L%:R^-1 * L%:R^-1 * Dbar i j)) => [|i _]; last first.
  by rewrite mxE full_mask_key_count -mulrA [Dbar i j / _]mulrC.
by rewrite -mulr_sumr full_mask_centred_column_sums mulr0 mul0r.
Qed.

End Labels.

Section Reconstruction.
Variables (d : nat) (tokens : sample -> 'M[R]_(L, d)).

Local Notation C := (second_moment weight tokens).
Local Notation L_SPT := (reconstruction_loss weight tokens full_mask Delta).

Theorem P1_reconstruction : is_derive (0 : R) 1 L_SPT (- (L%:R ^- 2 * frobenius Dbar C)).
Proof.
apply: is_derive_eq (G1_reconstruction Delta full_mask_has_keys weight tokens) _.
pose column_mean j := L%:R^-1 * \sum_k C k j.
have split i : \sum_j Dbar i j / #|@full_mask L i|%:R *
      (#|@full_mask L i|%:R^-1 * (\sum_(k in full_mask i) C k j) - C i j)
    = L%:R^-1 * (\sum_j Dbar i j * column_mean j - \sum_j Dbar i j * C i j).
  rewrite -sumrB mulr_sumr; apply: eq_bigr => j _.
  by rewrite full_mask_key_count sum_all_keys mulrAC -mulrBr mulrC.
rewrite (eq_bigr _ (fun i _ => split i)) -mulr_sumr sumrB exchange_big /= big1 => [|j _]; last first.
  by rewrite -mulr_suml full_mask_centred_column_sums mul0r.
by rewrite sub0r mulrN mulrN mulrA -exprVn expr2.
Qed.

End Reconstruction.
End Proposition1.
