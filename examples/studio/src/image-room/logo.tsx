import type { Issue } from "@sluice/core";
import { issuesAt } from "../room/form/issues.js";
import { NumberField } from "../room/form/number-field.js";
import type { LogoOrder } from "./order.js";

interface LogoProps {
  readonly logo: LogoOrder;
  /** Of the whole request. */
  readonly issues: readonly Issue[];
  readonly onChange: (change: Partial<LogoOrder>) => void;
}

/** How the logo is to be. What the gateway's numbers stand for, its specification does not say. */
export function Logo({ logo, issues, onChange }: LogoProps) {
  return (
    <fieldset className="field">
      <legend className="unseen">Logo</legend>
      <div className="pair">
        <NumberField
          name="Position"
          value={logo.position}
          hint="The gateway's number for a place."
          issues={issuesAt(issues, "logo_info.position")}
          onChange={(position) => onChange({ position })}
        />
        <NumberField
          name="Language"
          value={logo.language}
          hint="The gateway's number for one."
          issues={issuesAt(issues, "logo_info.language")}
          onChange={(language) => onChange({ language })}
        />
        <NumberField
          name="Opacity"
          isFraction
          value={logo.opacity}
          hint="From 0 to 1."
          issues={issuesAt(issues, "logo_info.opacity")}
          onChange={(opacity) => onChange({ opacity })}
        />
      </div>
    </fieldset>
  );
}
