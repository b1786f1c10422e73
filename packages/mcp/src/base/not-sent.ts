/** A call that was not sent. Its message has the reason and the next step. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}
