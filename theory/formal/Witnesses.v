(* Neither theorem is empty: for each, a pattern that meets its hypothesis and a sequence whose slope is not zero.

   The witnesses of theory.md ("False statements"), d = 1, one sample: L = 2 with slope −1/4 for P1, L = 4 with slope
   −2/9 for P1-diag (at L ≤ 3 every P1-diag slope vanishes).  They also refute the sign-flipped statements, and 1/L for 1/L².

   Checked by: coqc (theory/formal/prove.sh). *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import mathcomp_extra boolp classical_sets functions reals ereal signed topology normedtype
  sequences derive realfun exp.
From Blindness Require Import Softmax Objectives FirstOrder Proposition1 DiagonalMask.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.

Section Witnesses.
Variable R : realType.

Definition matrix_of_rows rows columns (entries : seq (seq R)) : 'M[R]_(rows, columns) :=
  \matrix_(i, j) nth 0 (nth [::] entries i) j.

Local Notation always := (fun _ : unit => 1 : R).

Lemma one_sample_moment L (X : 'M[R]_(L, 1)) i j : second_moment always (fun _ => X) i j = X i 0 * X j 0.
Proof. by rewrite mxE /expectation (bigD1 tt) //= big1 => [|[]//]; rewrite /dot big_ord1 !mxE mul1r addr0. Qed.

(* Softmax ignores what is constant along a row, so a pattern without any is its own row-centred form. *)
Lemma centred_by_itself L (keys : 'I_L -> {set 'I_L}) (pattern : 'M[R]_L) :
  (forall i, \sum_(k in keys i) pattern i k = 0) -> (forall i j, j \notin keys i -> pattern i j = 0) ->
  centred keys pattern = pattern.
Proof.
move=> zero_rows inside; apply/matrixP => i j; rewrite mxE zero_rows mul0r subr0.
by case: ifPn => // /inside ->.
Qed.

Let simplify := (@mulr0 R, @mul0r R, @mulr1 R, @mul1r R, @oppr0 R, @addr0 R, @add0r R, @subrr R, @addNr R).

(* Δ = [[1, −1], [−1, 1]], X = (1, 0). *)
Definition swap := matrix_of_rows 2 2 [:: [:: 1; -1]; [:: -1; 1]].
Definition first_token := matrix_of_rows 2 1 [:: [:: 1]; [:: 0]].

Lemma swap_columns j : \sum_i swap i j = 0.
Proof. by rewrite !big_ord_recl big_ord0 !mxE; case: j => [[|[|]]] //= _; rewrite !simplify. Qed.

Lemma swap_rows i : \sum_(k in full_mask i) swap i k = 0.
Proof. by rewrite sum_all_keys !big_ord_recl big_ord0 !mxE; case: i => [[|[|]]] //= _; rewrite !simplify. Qed.

Theorem P1_witness :
  is_derive (0 : R) 1 (reconstruction_loss always (fun _ => first_token) full_mask swap) (- 4%:R^-1).
Proof.
apply: is_derive_eq (P1_reconstruction swap_columns _ _) _.
rewrite centred_by_itself => [|i|i j]; [|exact: swap_rows|by rewrite in_full_mask].
rewrite /frobenius !big_ord_recl !big_ord0 !one_sample_moment !mxE /= !simplify.
by congr (- _^-1); rewrite -natrX.
Qed.

(* Δ = (12)(34) − (13)(24), X = (1, 1, 0, 0). *)
Definition pairs := matrix_of_rows 4 4
  [:: [:: 0; 1; -1; 0]; [:: 1; 0; 0; -1]; [:: -1; 0; 0; 1]; [:: 0; -1; 1; 0]].
Definition first_two_tokens := matrix_of_rows 4 1 [:: [:: 1]; [:: 1]; [:: 0]; [:: 0]].

Lemma pairs_columns j : \sum_i pairs i j = 0.
Proof. by rewrite !big_ord_recl big_ord0 !mxE; case: j => [[|[|[|[|]]]]] //= _; rewrite !simplify. Qed.

Lemma pairs_rows i : \sum_j pairs i j = 0.
Proof. by rewrite !big_ord_recl big_ord0 !mxE; case: i => [[|[|[|[|]]]]] //= _; rewrite !simplify. Qed.

Lemma pairs_diagonal i : pairs i i = 0.
Proof. by rewrite mxE; case: i => [[|[|[|[|]]]]]. Qed.

Theorem P1_diag_witness :
  is_derive (0 : R) 1 (reconstruction_loss always (fun _ => first_two_tokens) diagonal_mask pairs) (- (2 / 9%:R)).
Proof.
have blind := zero_sums_suffice (isT : (1 < 4)%N) pairs_rows pairs_columns pairs_diagonal.
apply: is_derive_eq (P1_diag_reconstruction _ blind _ _) _ => //.
rewrite centred_by_itself => [|i|i j]; first last.
- by rewrite finset.in_set negbK => /eqP ->; exact: pairs_diagonal.
- by rewrite sum_other_keys pairs_rows pairs_diagonal subrr.
rewrite /frobenius !big_ord_recl !big_ord0 !one_sample_moment !mxE /= !simplify.
have three : 4%:R - 1 = 3%:R :> R by rewrite -[1]/(1%:R) -natrB.
by rewrite three mulrC -natrX.
Qed.

End Witnesses.
