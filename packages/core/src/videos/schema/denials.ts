/* Messages of `forbidden` (`base/validate.ts`) for fields that several video models lack. */

/** For a field of `gamma-video-2.0`, in the other models. */
export const onlyGamma2 = "is for gamma-video-2.0 only; leave it out, or use that model";

/** For a field of the gamma models, in the beta models. */
export const onlyGamma: string = "is a field of the gamma models; beta models take `input` and `parameters`";

/** For a field of the beta models, in the gamma models. */
export const onlyBeta: string =
  "is a field of the beta models; gamma models take `content`, and parameters at the top level";
