import { acceptedTypes } from "../images/accepted.js";
import { issuesAt } from "../room/form/issues.js";
import { TextField } from "../room/form/text-field.js";
import { Sources } from "../room/sources/sources.js";
import type { useRegistration } from "./use-registration.js";

type AssetFieldsProps = Pick<ReturnType<typeof useRegistration>, "draft" | "setDraft" | "set" | "issues"> & {
  /** Somebody tried to register it as it is: from then on empty fields are wrong. */
  readonly isTried: boolean;
};

/** The image, and what it is called. */
export function AssetFields({ draft, setDraft, set, issues, isTried }: AssetFieldsProps) {
  return (
    <>
      <Sources
        name="Image"
        sources={draft.sources}
        most={1}
        accept={acceptedTypes.join()}
        issues={isTried || draft.sources.length > 0 ? issuesAt(issues, "URL") : []}
        onChange={(change) => setDraft((known) => ({ ...known, sources: change(known.sources) }))}
      />
      <TextField
        name="Name"
        value={draft.name}
        hint="Empty: the name of the file or of the link."
        onChange={(name) => set({ name })}
      />
      <TextField
        name="Group"
        value={draft.groupId}
        issues={issuesAt(issues, "GroupId")}
        onChange={(groupId) => set({ groupId })}
      />
    </>
  );
}
