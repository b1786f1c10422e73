/** A call that was not sent. Its message says why, and what to do. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}
