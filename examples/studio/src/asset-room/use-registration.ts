import { checkAssetRequest } from "@sluice/core/schemas";
import { useAsset } from "@sluice/react";
import { useDraft } from "../room/use-draft.js";
import { useLeaveWarning } from "../room/use-leave-warning.js";
import { type AssetDraft, emptyDraft, requestOf } from "./draft.js";
import { note } from "./registered.js";

/** What is to be registered, what is wrong with it, and how far its registration is. */
export function useRegistration() {
  const [draft, setDraft] = useDraft("asset", emptyDraft);
  const { create, reset, status, phase, progress, error } = useAsset();
  const isBusy = status === "pending";
  // it would be registered, perhaps, and nobody could name it
  useLeaveWarning(isBusy);
  const request = requestOf(draft);

  async function submit(): Promise<void> {
    const [source] = draft.sources;
    const { Name: name, GroupId: groupId } = request;
    if (!source || isBusy) return;
    const { handle } = await create(source.file ?? source.url, { name, groupId });
    if (!handle) return;
    // the list has it from here on; the form is free for the next
    note(handle, name, groupId);
    reset();
    setDraft(({ groupId: kept }) => ({ ...emptyDraft, groupId: kept }));
  }

  return {
    draft,
    setDraft,
    set: (change: Partial<AssetDraft>) => setDraft((known) => ({ ...known, ...change })),
    issues: checkAssetRequest(request).issues,
    submit,
    reset,
    isBusy,
    phase,
    progress,
    error,
  };
}
