(* The theorems in full, and the axioms that each rests on.

   First each statement once more without sections, so that no hypothesis can hide in one.  Then the axioms: those of
   classical mathematics on which MathComp-Analysis stands (propositional extensionality, functional extensionality,
   indefinite description) and no others.  Beside each theorem stands the claim of theory/ that it belongs to;
   prove.sh reads these lines, compares the list with the theorems of the other files, and writes both to its report.

   Checked by: coqc (theory/formal/prove.sh). *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import reals topology normedtype derive.
From Blindness Require Import Softmax Objectives FirstOrder Proposition1 DiagonalMask Witnesses.

Import GRing.Theory Num.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.
Set Printing Width 200.

(* P1, labels: L_sup'(0) = 0.  The width is d.+1, that is, at least 1. *)
Goal forall (R : realType) (L d : nat) (sample : finType) (weight : sample -> R),
  forall (tokens : sample -> 'M[R]_(L, d.+1)) (label : Type) (labels : sample -> label),
  forall (loss : 'rV[R]_d.+1 -> label -> R) (Delta : 'M[R]_L),
  (forall j, \sum_i Delta i j = 0) ->
  (forall w, differentiable (loss^~ (labels w)) (pooled full_mask Delta mean_pooling (tokens w) 0)) ->
  is_derive (0 : R) 1 (label_loss weight tokens full_mask Delta mean_pooling labels loss) 0.
Proof. by move=> *; exact: P1_supervised. Qed.

(* P1, reconstruction: L_SPT'(0) = −(1/L²) ⟨Δ̄, C⟩. *)
Goal forall (R : realType) (L d : nat) (sample : finType) (weight : sample -> R),
  forall (tokens : sample -> 'M[R]_(L, d)) (Delta : 'M[R]_L),
  (forall j, \sum_i Delta i j = 0) ->
  is_derive (0 : R) 1 (reconstruction_loss weight tokens full_mask Delta)
    (- (L%:R ^- 2 * frobenius (centred full_mask Delta) (second_moment weight tokens))).
Proof. by move=> *; exact: P1_reconstruction. Qed.

(* P1-diag, labels: L_sup'(0) = 0. *)
Goal forall (R : realType) (L d : nat) (sample : finType) (weight : sample -> R),
  forall (tokens : sample -> 'M[R]_(L, d.+1)) (label : Type) (labels : sample -> label),
  forall (loss : 'rV[R]_d.+1 -> label -> R) (Delta : 'M[R]_L),
  (1 < L)%N -> (forall j, \sum_i centred diagonal_mask Delta i j = 0) ->
  (forall w, differentiable (loss^~ (labels w)) (pooled diagonal_mask Delta mean_pooling (tokens w) 0)) ->
  is_derive (0 : R) 1 (label_loss weight tokens diagonal_mask Delta mean_pooling labels loss) 0.
Proof. by move=> *; exact: P1_diag_supervised. Qed.

(* P1-diag, reconstruction: L_SPT'(0) = −(1/(L−1)²) ⟨Δ̄, C⟩. *)
Goal forall (R : realType) (L d : nat) (sample : finType) (weight : sample -> R),
  forall (tokens : sample -> 'M[R]_(L, d)) (Delta : 'M[R]_L),
  (1 < L)%N -> (forall j, \sum_i centred diagonal_mask Delta i j = 0) ->
  is_derive (0 : R) 1 (reconstruction_loss weight tokens diagonal_mask Delta)
    (- ((L%:R - 1) ^- 2 * frobenius (centred diagonal_mask Delta) (second_moment weight tokens))).
Proof. by move=> *; exact: P1_diag_reconstruction. Qed.

(* G1, both halves, from which P1 and P1-diag follow: any mask with a key a query, any pooling, any Δ. *)
Goal forall (R : realType) (L d : nat) (sample : finType) (weight : sample -> R),
  forall (tokens : sample -> 'M[R]_(L, d.+1)) (label : Type) (labels : sample -> label),
  forall (loss : 'rV[R]_d.+1 -> label -> R) (keys : 'I_L -> {set 'I_L}) (Delta : 'M[R]_L) (pooling : 'rV[R]_L),
  (forall i, 0 < #|keys i|)%N ->
  let h w := pooled keys Delta pooling (tokens w) 0 in
  let v j := \sum_i pooling 0 i * (centred keys Delta i j / #|keys i|%:R) in
  (forall w, differentiable (loss^~ (labels w)) (h w)) ->
  is_derive (0 : R) 1 (label_loss weight tokens keys Delta pooling labels loss)
    (\sum_j v j * expectation weight (fun w => 'd (loss^~ (labels w)) (h w) (row j (tokens w)))).
Proof. by move=> *; exact: G1_supervised. Qed.

Goal forall (R : realType) (L d : nat) (sample : finType) (weight : sample -> R),
  forall (tokens : sample -> 'M[R]_(L, d)) (keys : 'I_L -> {set 'I_L}) (Delta : 'M[R]_L),
  (forall i, 0 < #|keys i|)%N ->
  let n i := #|keys i|%:R : R in
  let C := second_moment weight tokens in
  is_derive (0 : R) 1 (reconstruction_loss weight tokens keys Delta)
    (L%:R^-1 * \sum_i \sum_j centred keys Delta i j / n i * ((n i)^-1 * (\sum_(k in keys i) C k j) - C i j)).
Proof. by move=> *; exact: G1_reconstruction. Qed.

Print Assumptions softmax_slope. (* G1 *)
Print Assumptions G1_supervised. (* G1 *)
Print Assumptions G1_reconstruction. (* G1 *)
Print Assumptions P1_supervised. (* P1 *)
Print Assumptions P1_reconstruction. (* P1 *)
Print Assumptions P1_witness. (* P1 *)
Print Assumptions P1_diag_supervised. (* P1-diag *)
Print Assumptions P1_diag_reconstruction. (* P1-diag *)
Print Assumptions P1_diag_witness. (* P1-diag *)
