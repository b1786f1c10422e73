/* Open handles of this process. Scripts import it, too, so it imports no test runner. */

/** Excludes all open handles from the check, for a process or server that several files share. */
export function shareOpenHandles(): void {
  for (const handle of readHandles()) readShared().add(handle);
}

/**
 * Open handles that keep the process alive. Channels between tabs live as long as their page. The input and output of
 * the process open at their first use.
 */
export function readHandles(): object[] {
  const handles = (process as unknown as { _getActiveHandles(): { fd?: number }[] })._getActiveHandles();
  return handles.filter((handle) => handle.constructor.name !== "MessagePort" && (handle.fd ?? 3) > 2);
}

/** Handles shared by several files. The worker stores them between files. */
export function readShared(): Set<object> {
  const shared = globalThis as { sluiceSharedHandles?: Set<object> };
  shared.sluiceSharedHandles ??= new Set();
  return shared.sluiceSharedHandles;
}
