(* G1: the first-order jet of both objectives at α = 0, for every mask with a key a query and every score pattern.

   With v_j = Σ_i ω_i Δ̄_ij / n_i (theory.md, G1):
     L_sup'(0) = Σ_j v_j E[g·X_j],   g·x := the Fréchet derivative of ℓ(·, Y) at h(0), applied to x;
     L_SPT'(0) = (1/L) Σ_i Σ_j (Δ̄_ij / n_i) ((1/n_i) Σ_{k∈N_i} C_kj − C_ij).
   The loss is any function of h that is Fréchet differentiable at h(0); d ≥ 1 there (the norm of MathComp-Analysis on row
   vectors needs it), any d for reconstruction.

   Checked by: coqc (theory/formal/prove.sh). *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import mathcomp_extra boolp classical_sets functions reals ereal signed topology normedtype
  sequences derive realfun exp.
From Blindness Require Import Softmax Objectives.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.

Section Expectation.
Variables (R : realType) (sample : finType) (weight : sample -> R).
Local Notation E := (expectation weight).

Lemma eq_expectation f g : f =1 g -> E f = E g.
Proof. by move=> fg; apply: eq_bigr => w _; rewrite fg. Qed.

Lemma expectationB f g : E (fun w => f w - g w) = E f - E g.
Proof. by rewrite /expectation -sumrB; apply: eq_bigr => w _; rewrite mulrBr. Qed.

Lemma expectationZ c f : E (fun w => c * f w) = c * E f.
Proof. by rewrite /expectation mulr_sumr; apply: eq_bigr => w _; rewrite mulrCA. Qed.

Lemma expectation_sum (I : finType) (P : pred I) (f : I -> sample -> R) :
  E (fun w => \sum_(i | P i) f i w) = \sum_(i | P i) E (f i).
Proof. by rewrite /expectation exchange_big; apply: eq_bigr => w _; rewrite mulr_sumr. Qed.

Lemma is_derive_expectation (f : sample -> R -> R) (df : sample -> R) (x : R) :
  (forall w, is_derive x (1 : R) (f w) (df w)) -> is_derive x (1 : R) (fun a => E (fun w => f w a)) (E df).
Proof. by move=> f_slope; apply: is_derive_finite_sum => w _; exact: is_derive_times. Qed.

End Expectation.

Section Dot.
Variables (R : realType) (d : nat).
Implicit Types u v : 'rV[R]_d.

Lemma dotC u v : dot u v = dot v u.
Proof. by apply: eq_bigr => c _; exact: mulrC. Qed.

Lemma dotBl u u' v : dot (u - u') v = dot u v - dot u' v.
Proof. by rewrite /dot -sumrB; apply: eq_bigr => c _; rewrite !mxE mulrBl. Qed.

Lemma dotZl a u v : dot (a *: u) v = a * dot u v.
Proof. by rewrite /dot mulr_sumr; apply: eq_bigr => c _; rewrite mxE mulrA. Qed.

Lemma dot_suml (I : finType) (P : pred I) (u : I -> 'rV[R]_d) v :
  dot (\sum_(i | P i) u i) v = \sum_(i | P i) dot (u i) v.
Proof. by rewrite /dot exchange_big; apply: eq_bigr => c _; rewrite summxE mulr_suml. Qed.

Lemma dotZr a u v : dot u (a *: v) = a * dot u v.
Proof. by rewrite dotC dotZl dotC. Qed.

Lemma dot_sumr (I : finType) (P : pred I) (v : I -> 'rV[R]_d) u :
  dot u (\sum_(i | P i) v i) = \sum_(i | P i) dot u (v i).
Proof. by rewrite dotC dot_suml; apply: eq_bigr => i _; exact: dotC. Qed.

End Dot.

Section FirstOrder.
Variables (R : realType) (L : nat) (keys : 'I_L -> {set 'I_L}) (pattern : 'M[R]_L).
Hypothesis every_query_has_a_key : forall i, (0 < #|keys i|)%N.
Variables (sample : finType) (weight : sample -> R).

Local Notation n i := (#|keys i|%:R : R).
Local Notation Dbar := (centred keys pattern).
Local Notation E := (expectation weight).

Section Reconstruction.
Variables (d : nat) (tokens : sample -> 'M[R]_(L, d)).
Local Notation C := (second_moment weight tokens).
Local Notation X w i := (row i (tokens w)).

Lemma row_output (x : 'M[R]_(L, d)) i alpha :
  row i (output keys pattern x alpha) = \sum_j attention keys pattern alpha i j *: row j x.
Proof. by rewrite row_mul mulmx_sum_row; apply: eq_bigr => j _; rewrite mxE. Qed.

Lemma row_output0 (x : 'M[R]_(L, d)) i : row i (output keys pattern x 0) = (n i)^-1 *: \sum_(k in keys i) row k x.
Proof.
rewrite row_output scaler_sumr [RHS]big_mkcond; apply: eq_bigr => k _ /=.
by rewrite attention0; case: ifP => // _; rewrite scale0r.
Qed.

Definition output_slope (x : 'M[R]_(L, d)) i : 'rV[R]_d := \sum_j (Dbar i j / n i) *: row j x.

Lemma is_derive_output (x : 'M[R]_(L, d)) i c :
  is_derive (0 : R) 1 (fun alpha => row i (output keys pattern x alpha) 0 c) (output_slope x i 0 c).
Proof.
have -> : (fun alpha => row i (output keys pattern x alpha) 0 c)
        = (fun alpha => \sum_j row j x 0 c * attention keys pattern alpha i j).
  by apply/funext => alpha; rewrite row_output summxE; apply: eq_bigr => j _; rewrite mxE mulrC.
have -> : output_slope x i 0 c = \sum_j row j x 0 c * (Dbar i j / n i).
  by rewrite summxE; apply: eq_bigr => j _; rewrite mxE mulrC.
by apply: is_derive_finite_sum => j _; apply: is_derive_times; exact: softmax_slope.
Qed.

Lemma is_derive_squared_error (x : 'M[R]_(L, d)) i :
  is_derive (0 : R) 1
    (fun alpha => let error := row i x - row i (output keys pattern x alpha) in dot error error)
    (- (2 * dot (row i x - row i (output keys pattern x 0)) (output_slope x i))).
Proof.
rewrite /dot mulr_sumr -sumrN; apply: is_derive_finite_sum => c _.
pose error alpha : R := (row i x - row i (output keys pattern x alpha)) 0 c.
have error_slope : is_derive (0 : R) 1 error (- output_slope x i 0 c).
  have -> : error = cst (row i x 0 c) - (fun alpha => row i (output keys pattern x alpha) 0 c).
    by apply/funext => alpha; rewrite /error mxE [T in _ + T]mxE.
  by apply: is_derive_eq (sub0r _); apply: is_deriveB; exact: is_derive_output.
apply: is_derive_eq (is_deriveM error_slope error_slope) _.
by rewrite /GRing.scale /= mulrN -opprD mulr_natl mulr2n.
Qed.

Theorem G1_reconstruction :
  is_derive (0 : R) 1 (reconstruction_loss weight tokens keys pattern)
    (L%:R^-1 * \sum_i \sum_j Dbar i j / n i * ((n i)^-1 * (\sum_(k in keys i) C k j) - C i j)).
Proof.
have expand i :
    E (fun w => - (2 * dot (X w i - row i (output keys pattern (tokens w) 0)) (output_slope (tokens w) i)))
    = 2 * \sum_j Dbar i j / n i * ((n i)^-1 * (\sum_(k in keys i) C k j) - C i j).
  transitivity (2 * E (fun w => \sum_j Dbar i j / n i *
      ((n i)^-1 * (\sum_(k in keys i) dot (X w k) (X w j)) - dot (X w i) (X w j)))).
    rewrite -expectationZ; apply: eq_expectation => w.
    rewrite -mulrN; congr (2 * _); rewrite dot_sumr -sumrN; apply: eq_bigr => j _.
    by rewrite dotZr dotBl row_output0 dotZl dot_suml -mulrN opprB.
  congr (2 * _); rewrite expectation_sum; apply: eq_bigr => j _.
  rewrite expectationZ expectationB expectationZ expectation_sum.
  by congr (_ * (_ * _ - _)); [apply: eq_bigr => k _|]; rewrite mxE.
have slope : is_derive (0 : R) 1 (reconstruction_loss weight tokens keys pattern) ((2 * L%:R)^-1 * \sum_i E (fun w =>
    - (2 * dot (X w i - row i (output keys pattern (tokens w) 0)) (output_slope (tokens w) i)))).
  apply: is_derive_times; apply: is_derive_finite_sum => i _.
  by apply: is_derive_expectation => w; exact: is_derive_squared_error.
apply: is_derive_eq slope _.
rewrite (eq_bigr _ (fun i _ => expand i)) -mulr_sumr invfM mulrA; congr (_ * _).
by rewrite mulrAC mulVf ?pnatr_eq0 // mul1r.
Qed.

End Reconstruction.

Section Supervised.
Variables (d' : nat).
Local Notation d := d'.+1.
Variables (tokens : sample -> 'M[R]_(L, d)) (pooling : 'rV[R]_L).
Variables (label : Type) (labels : sample -> label) (loss : 'rV[R]_d -> label -> R).

(* v_j, the response of the pooled output to token j. *)
Definition pooled_key_weight j : R := \sum_i pooling 0 i * (Dbar i j / n i).

Local Notation h X := (pooled keys pattern pooling X).

Lemma pooled_slope (X : 'M[R]_(L, d)) : is_derive (0 : R) 1 (h X) (\sum_j pooled_key_weight j *: row j X).
Proof.
have -> : h X = (fun alpha => \sum_j (\sum_i pooling 0 i * attention keys pattern alpha i j) *: row j X).
  apply/funext => alpha; rewrite /pooled /output mulmxA mulmx_sum_row; apply: eq_bigr => j _.
  by rewrite mxE.
apply: is_derive_finite_sum => j _.
pose coefficient alpha := \sum_i pooling 0 i * attention keys pattern alpha i j.
have coefficient_slope : is_derive (0 : R) 1 coefficient (pooled_key_weight j).
  by apply: is_derive_finite_sum => i _; apply: is_derive_times; exact: softmax_slope.
have coefficient_diff : differentiable coefficient (0 : R) by apply/derivable1_diffP.
apply: DeriveDef; first by apply/diff_derivable/differentiableZl.
rewrite deriveE; last exact: differentiableZl.
by rewrite diffZl // -deriveE // derive_val.
Qed.

(* The gradient of the loss at h(0), paired with x: the Fréchet derivative of ℓ(·, Y(w)) applied to x. *)
Definition gradient_along w (x : 'rV[R]_d) : R := 'd (loss^~ (labels w)) (h (tokens w) 0) x.

Hypothesis loss_is_differentiable :
  forall w, differentiable (loss^~ (labels w)) (h (tokens w) 0).

Theorem G1_supervised :
  is_derive (0 : R) 1 (label_loss weight tokens keys pattern pooling labels loss)
    (\sum_j pooled_key_weight j * E (fun w => gradient_along w (row j (tokens w)))).
Proof.
have -> : \sum_j pooled_key_weight j * E (fun w => gradient_along w (row j (tokens w)))
        = E (fun w => gradient_along w (\sum_j pooled_key_weight j *: row j (tokens w))).
  under eq_bigr do rewrite -expectationZ.
  rewrite -expectation_sum; apply: eq_expectation => w.
  by rewrite /gradient_along linear_sum; apply: eq_bigr => j _; rewrite linearZ.
apply: is_derive_expectation => w.
have slope := pooled_slope (tokens w).
have h_diff : differentiable (h (tokens w)) (0 : R) by apply/derivable1_diffP.
have loss_diff := loss_is_differentiable w.
pose along := loss^~ (labels w) \o h (tokens w).
have along_diff : differentiable along (0 : R) by exact: differentiable_comp.
apply: (@DeriveDef _ _ _ _ _ along); first exact: diff_derivable.
by rewrite deriveE // diff_comp //= -(deriveE _ h_diff) derive_val.
Qed.

End Supervised.
End FirstOrder.
