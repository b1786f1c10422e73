import { type Dispatch, type SetStateAction, useEffect, useState } from "react";

const drafts = new Map<string, unknown>();

/** State that outlives its component: what was being written is still there when one comes back to the room. */
export function useDraft<Draft extends object>(
  name: string,
  initial: Draft,
): [Draft, Dispatch<SetStateAction<Draft>>] {
  const [draft, setDraft] = useState<Draft>(() => (drafts.get(name) as Draft | undefined) ?? initial);
  useEffect(() => void drafts.set(name, draft), [name, draft]);
  return [draft, setDraft];
}

/** Writes into a draft from another room. */
export function putDraft<Draft extends object>(
  name: string,
  initial: Draft,
  change: (draft: Draft) => Draft,
): void {
  drafts.set(name, change((drafts.get(name) as Draft | undefined) ?? initial));
}
