/* Error texts for fields that a video model lacks. Several models share them. See `forbidden` in `base/validate.ts`. */

/** For all models but `gamma-video-2.0`. */
export const only20 = "is for gamma-video-2.0 only; leave it out, or use that model";

/** For the beta models. */
export const gammaShape: string = "is a field of the gamma models; beta models take `input` and `parameters`";

/** For the gamma models. */
export const betaShape: string =
  "is a field of the beta models; gamma models take `content`, and parameters at the top level";
