import type { Issue } from "@sluice/core";
import { type ReactNode, useId } from "react";
import { Issues } from "./issues.js";

/** What a control needs to be called by its label, and described by what is said below it. */
interface ControlProps {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean;
}

interface FieldProps {
  readonly name: string;
  readonly hint?: ReactNode;
  /** What is wrong with what it holds. */
  readonly issues?: readonly Issue[];
  readonly children: (control: ControlProps) => ReactNode;
}

/** A control with its label, a hint and what is wrong with it. */
export function Field({ name, hint, issues = [], children }: FieldProps) {
  const id = useId();
  const said = hint !== undefined || issues.length > 0;
  return (
    <div className="field">
      <label htmlFor={id}>{name}</label>
      {children({
        id,
        "aria-describedby": said ? `${id}-said` : undefined,
        "aria-invalid": issues.length > 0,
      })}
      {said && (
        <div id={`${id}-said`}>
          {hint !== undefined && <p className="hint">{hint}</p>}
          <Issues issues={issues} />
        </div>
      )}
    </div>
  );
}
