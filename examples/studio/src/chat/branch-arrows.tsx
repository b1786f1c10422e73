import type { ThreadMessage } from "@sluice/core";
import { useConversationActions, useIsBusy } from "./actions.js";

/** Leads through the versions of a message; nothing where there is one. */
export function BranchArrows({ message: { id, branches } }: { message: ThreadMessage }) {
  if (!branches) return null;
  const place = branches.indexOf(id);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has no place within a line
    <span className="branches" role="group" aria-label="Versions">
      <Arrow name="Previous version" sign="‹" to={branches[place - 1]} />
      <span>
        {place + 1}/{branches.length}
      </span>
      <Arrow name="Next version" sign="›" to={branches[place + 1]} />
    </span>
  );
}

function Arrow({ name, sign, to }: { name: string; sign: string; to: string | undefined }) {
  const { switchBranch } = useConversationActions();
  const isBusy = useIsBusy();
  const leads = to !== undefined && !isBusy;
  return (
    <button
      type="button"
      className="quiet small"
      aria-label={name}
      title={name}
      // not `disabled`: at the end of the versions a keyboard would lose its place
      aria-disabled={!leads}
      onClick={() => leads && switchBranch(to)}
    >
      {sign}
    </button>
  );
}
