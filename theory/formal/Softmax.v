(* Softmax over a mask, and its derivative at zero scores, from first principles.

   Establishes  a'_ij(0) = Δ̄_ij / n_i  for every mask with at least one key a query, every score pattern Δ and every
   length L (theory.md, G1, first formula; paper, appendix D, first step).  [expR] is the exponential series of
   MathComp-Analysis; nothing about softmax is assumed.

     paper            here
     L                L                             number of positions
     N_i              keys i                        the keys that query i may attend to
     n_i              #|keys i|                     how many they are
     Δ                pattern                       L × L score pattern; the scores are s(α) = α Δ
     a_ij(α)          attention keys pattern α i j
     Δ̄                centred keys pattern          each row centred within its mask, zero outside
     ⟨A, B⟩_F         frobenius A B

   Checked by: coqc (theory/formal/prove.sh). *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import mathcomp_extra boolp classical_sets functions reals ereal signed topology normedtype
  sequences derive realfun exp.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.
Local Notation expR := sequences.expR.

(* --- Definitions -------------------------------------------------------------------------------------------------- *)

Section Definitions.
Variables (R : realType) (L : nat).
Implicit Types (keys : 'I_L -> {set 'I_L}) (scores pattern : 'M[R]_L).

Definition full_mask : 'I_L -> {set 'I_L} := fun _ => [set: 'I_L].
Definition diagonal_mask : 'I_L -> {set 'I_L} := fun i => [set k | k != i].

Definition softmax keys scores : 'M[R]_L :=
  \matrix_(i, j) if j \in keys i then expR (scores i j) / \sum_(k in keys i) expR (scores i k) else 0.

Definition attention keys pattern (alpha : R) : 'M[R]_L := softmax keys (alpha *: pattern).

Definition centred keys pattern : 'M[R]_L :=
  \matrix_(i, j) if j \in keys i then pattern i j - (\sum_(k in keys i) pattern i k) / #|keys i|%:R else 0.

Definition frobenius (A B : 'M[R]_L) : R := \sum_i \sum_j A i j * B i j.

End Definitions.

Arguments full_mask {L}.
Arguments diagonal_mask {L}.

(* --- Derivatives of finite sums and of the exponential ------------------------------------------------------------ *)

Section Calculus.
Variable R : realType.

Lemma is_derive_finite_sum (V : normedModType R) (I : finType) (P : pred I) (f : I -> R -> V) (df : I -> V) (x : R) :
  (forall i, P i -> is_derive x 1 (f i) (df i)) ->
  is_derive x 1 (fun a => \sum_(i | P i) f i a) (\sum_(i | P i) df i).
Proof.
move=> f_slope.
have -> : (fun a => \sum_(i | P i) f i a) = \sum_(i | P i) f i by apply/funext => a; rewrite fct_sumE.
apply: (big_ind2 (fun g dg => is_derive x 1 g dg)) => //; first exact: is_derive_cst.
by move=> g dg k dk g_slope k_slope; exact: is_deriveD.
Qed.

Lemma is_derive_scaled (V : normedModType R) (f : R -> V) (df : V) (c x : R) :
  is_derive x 1 f df -> is_derive x 1 (fun a => c *: f a) (c *: df).
Proof. exact: is_deriveZ. Qed.

Lemma is_derive_times (f : R -> R) (df c x : R) :
  is_derive x (1 : R) f df -> is_derive x (1 : R) (fun a => c * f a) (c * df).
Proof. exact: is_derive_scaled. Qed.

Lemma is_derive_exponential (c : R) : is_derive (0 : R) (1 : R) (fun a => expR (a * c)) c.
Proof.
have inner : is_derive (0 : R) (1 : R) (fun a => a * c) c.
  have -> : (fun a => a * c) = (fun a => c * a) by apply/funext => a; exact: mulrC.
  by apply: is_derive_eq (mulr1 c); apply: is_derive_times; exact: is_derive_id.
have := @is_derive1_comp R expR (fun a => a * c) 0 _ _ (is_derive_expR _) inner.
by rewrite mul0r expR0 mul1r.
Qed.

End Calculus.

(* --- Softmax at zero scores --------------------------------------------------------------------------------------- *)

Section Slope.
Variables (R : realType) (L : nat) (keys : 'I_L -> {set 'I_L}) (pattern : 'M[R]_L).
Hypothesis every_query_has_a_key : forall i, (0 < #|keys i|)%N.

Local Notation n i := (#|keys i|%:R : R).

Lemma key_count_neq0 i : n i != 0.
Proof. by rewrite pnatr_eq0 -lt0n. Qed.

(* Not used below: softmax is a probability over the keys, whatever the scores. *)
Lemma softmax_row_sum (scores : 'M[R]_L) i : \sum_j softmax keys scores i j = 1.
Proof.
rewrite (eq_bigr (fun j => if j \in keys i then expR (scores i j) / \sum_(k in keys i) expR (scores i k) else 0)).
  rewrite -big_mkcond /= -mulr_suml divff // gt_eqF //.
  have [k k_in] := card_gt0P (every_query_has_a_key i).
  rewrite (bigD1 k) //= ltr_paddr ?expR_gt0 // sumr_ge0 // => j _.
  exact/ltW/expR_gt0.
by move=> j _; rewrite mxE.
Qed.

Lemma attention0 i j : attention keys pattern 0 i j = if j \in keys i then (n i)^-1 else 0.
Proof.
rewrite /attention scale0r mxE; case: ifP => // _.
under eq_bigr do rewrite mxE expR0.
by rewrite mxE expR0 mul1r sumr_const.
Qed.

Theorem softmax_slope i j :
  is_derive (0 : R) 1 (fun alpha => attention keys pattern alpha i j) (centred keys pattern i j / n i).
Proof.
rewrite /centred mxE; case: ifP => j_in; last first.
  have -> : (fun alpha => attention keys pattern alpha i j) = cst 0.
    by apply/funext => alpha; rewrite mxE j_in.
  by rewrite mul0r; exact: is_derive_cst.
pose partition alpha := \sum_(k in keys i) expR (alpha * pattern i k).
have -> : (fun alpha => attention keys pattern alpha i j)
        = (fun alpha => expR (alpha * pattern i j)) * (fun alpha => (partition alpha)^-1).
  apply/funext => alpha; rewrite mxE j_in mxE; congr (_ / _).
  by apply: eq_bigr => k _; rewrite mxE.
have partition_slope : is_derive (0 : R) 1 partition (\sum_(k in keys i) pattern i k).
  by apply: is_derive_finite_sum => k _; exact: is_derive_exponential.
have partition0 : partition 0 = n i.
  by rewrite /partition (eq_bigr (fun=> 1)) ?sumr_const // => k _; rewrite mul0r expR0.
have partition_neq0 : partition 0 != 0 by rewrite partition0 key_count_neq0.
have inverse_slope := @is_deriveV _ _ _ _ _ partition_neq0 partition_slope.
apply: is_derive_eq (is_deriveM (is_derive_exponential (pattern i j)) inverse_slope) _.
rewrite /= mul0r expR0 scale1r partition0 /GRing.scale /= mulrBl addrC; congr (_ + _); first exact: mulrC.
by rewrite mulNr -exprVn expr2 mulrC mulrA.
Qed.

End Slope.
