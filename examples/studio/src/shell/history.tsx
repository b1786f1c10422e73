/** The conversations of this browser, by day. */
export function History() {
  return <p className="px-3 py-2 text-sm text-muted">No chats yet</p>;
}
