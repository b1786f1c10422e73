/** Paths of the requests that create something. Queries have other paths. */
const CREATE_PATH = /\/(completions|generations|CreateAsset|(text|image|multi-image)2video)$/;

/**
 * Returns true for the path of a request that creates something and may be billed. Queries cost nothing.
 *
 * @example
 * ```ts
 * isCreatePath("/v1/images/generations"); // true
 * ```
 */
export function isCreatePath(path: string): boolean {
  return CREATE_PATH.test(path);
}
