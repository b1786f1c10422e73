import { X } from "lucide-react";
import { IconButton } from "../ui/button.js";
import { type Refused, refusedWords } from "../words.js";

interface RefusalsProps {
  readonly refused: readonly Refused[];
  readonly onDismiss: () => void;
}

/** The files that were not added: one line for each reason, and one announcement for however many. */
export function Refusals({ refused, onDismiss }: RefusalsProps) {
  if (refused.length === 0) return null;
  return (
    <div role="alert" className="flex items-start gap-2 pl-2 text-sm text-danger">
      <div className="flex min-w-0 grow flex-col gap-1 py-1 wrap-anywhere">
        {refusedWords(refused).map((line) => (
          <p key={line}>{line}</p>
        ))}
      </div>
      <IconButton label="Dismiss" className="-my-0.5" onClick={onDismiss}>
        <X aria-hidden />
      </IconButton>
    </div>
  );
}

/** Most files of a field of which the model sets no limit, and of a message. */
export const MOST_FILES = 10;
