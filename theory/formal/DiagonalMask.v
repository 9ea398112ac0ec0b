(* P1-diag: the variant of Proposition 1 where no query attends to itself (paper, appendix D), for every L ≥ 2 and d.

   N_i = {k ≠ i}, mean pooling, a pattern Δ whose row-centred columns sum to zero:
     L_sup'(0) = 0                    for every loss that is Fréchet differentiable at h(0), whatever the labels and law;
     L_SPT'(0) = −(1/(L−1)²) ⟨Δ̄, C⟩_F.
   Symbols: Softmax.v and Objectives.v.  The hypothesis is on Δ̄, not on Δ: zero column sums of Δ are not enough.  Zero row
   and column sums with a constant diagonal are ([zero_sums_suffice]).  L = 1 leaves the query without a key.
   Weaker than the paper: the sample space is finite (any size, any weights).

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

Section DiagonalMask.
Variables (R : realType) (L : nat) (Delta : 'M[R]_L).
Hypothesis two_positions : (1 < L)%N.

Local Notation Dbar := (centred diagonal_mask Delta).
Local Notation n := (L%:R - 1 : R).

Lemma diagonal_mask_key_count i : #|@diagonal_mask L i| = L.-1.
Proof. by rewrite /diagonal_mask cardsE cardC1 card_ord. Qed.

Lemma diagonal_mask_has_keys i : (0 < #|@diagonal_mask L i|)%N.
Proof. by rewrite diagonal_mask_key_count; case: L two_positions => [|[]]. Qed.

Lemma other_positions : L.-1%:R = n.
Proof. by rewrite -subn1 natrB // ltnW. Qed.

Lemma other_positions_neq0 : n != 0.
Proof. by rewrite -other_positions pnatr_eq0; case: L two_positions => [|[]]. Qed.

Lemma sum_other_keys (f : 'I_L -> R) i : \sum_(k in diagonal_mask i) f k = \sum_k f k - f i.
Proof. by rewrite [in RHS](bigD1 i) //= addrC addKr; apply: eq_bigl => k; rewrite finset.in_set. Qed.

(* A sufficient condition on Δ itself. *)
Lemma zero_sums_suffice (diagonal : R) :
  (forall i, \sum_j Delta i j = 0) -> (forall j, \sum_i Delta i j = 0) -> (forall i, Delta i i = diagonal) ->
  forall j, \sum_i Dbar i j = 0.
Proof.
move=> zero_rows zero_columns constant_diagonal j.
have entry i : Dbar i j = if i != j then Delta i j + diagonal / n else 0.
  rewrite mxE finset.in_set eq_sym; case: ifP => // _.
  by rewrite sum_other_keys zero_rows constant_diagonal diagonal_mask_key_count other_positions sub0r mulNr opprK.
rewrite (eq_bigr _ (fun i _ => entry i)) -big_mkcond big_split /= sumr_const.
rewrite cardC1 card_ord -[_ *+ _]mulr_natr other_positions divfK ?other_positions_neq0 //.
by rewrite -[RHS](zero_columns j) [RHS](bigD1 j) //= constant_diagonal addrC.
Qed.

Hypothesis zero_centred_column_sums : forall j, \sum_i Dbar i j = 0.
Variables (sample : finType) (weight : sample -> R).

Section Labels.
Variables (d' : nat).
Local Notation d := d'.+1.
Variables (tokens : sample -> 'M[R]_(L, d)) (label : Type) (labels : sample -> label).
Variables (loss : 'rV[R]_d -> label -> R).

Local Notation h := (pooled diagonal_mask Delta mean_pooling).
Local Notation L_sup := (label_loss weight tokens diagonal_mask Delta mean_pooling labels loss).

Theorem P1_diag_supervised :
  (forall w, differentiable (loss^~ (labels w)) (h (tokens w) 0)) ->
  is_derive (0 : R) 1 L_sup 0.
Proof.
move=> loss_diff; apply: is_derive_eq (G1_supervised diagonal_mask_has_keys weight loss_diff) _.
rewrite big1 // => j _; rewrite /pooled_key_weight.
rewrite (eq_bigr (fun i => L%:R^-1 * n^-1 * Dbar i j)) => [|i _]; last first.
  by rewrite mxE diagonal_mask_key_count other_positions -mulrA [Dbar i j / _]mulrC.
by rewrite -mulr_sumr zero_centred_column_sums mulr0 mul0r.
Qed.

End Labels.

Section Reconstruction.
Variables (d : nat) (tokens : sample -> 'M[R]_(L, d)).

Local Notation C := (second_moment weight tokens).
Local Notation L_SPT := (reconstruction_loss weight tokens diagonal_mask Delta).

Theorem P1_diag_reconstruction : is_derive (0 : R) 1 L_SPT (- ((L%:R - 1) ^- 2 * frobenius Dbar C)).
Proof.
apply: is_derive_eq (G1_reconstruction Delta diagonal_mask_has_keys weight tokens) _.
pose column_mean j := n^-1 * \sum_k C k j.
have own_token : n^-1 + 1 = L%:R / n.
  by apply: (mulIf other_positions_neq0); rewrite mulrDl divfK ?mulVf ?other_positions_neq0 // mul1r addrC subrK.
have split i : \sum_j Dbar i j / #|@diagonal_mask L i|%:R *
      (#|@diagonal_mask L i|%:R^-1 * (\sum_(k in diagonal_mask i) C k j) - C i j)
    = n^-1 * (\sum_j Dbar i j * column_mean j - L%:R / n * \sum_j Dbar i j * C i j).
  rewrite mulr_sumr -sumrB mulr_sumr; apply: eq_bigr => j _.
  rewrite diagonal_mask_key_count other_positions sum_other_keys mulrAC [LHS]mulrC [L%:R / n * _]mulrCA -mulrBr.
  congr (_ * (_ * _)).
  by rewrite -own_token mulrDl mul1r opprD addrA mulrBr.
rewrite (eq_bigr _ (fun i _ => split i)) -mulr_sumr sumrB exchange_big /= big1 => [|j _]; last first.
  by rewrite -mulr_suml zero_centred_column_sums mul0r.
rewrite sub0r -mulr_sumr !mulrN; congr (- _); rewrite -/(frobenius Dbar C) !mulrA; congr (_ * _).
by rewrite -exprVn expr2 [L%:R^-1 / _]mulrC divfK // pnatr_eq0 -lt0n ltnW.
Qed.

End Reconstruction.
End DiagonalMask.
