import { Choice } from "../room/form/choice.js";
import { NumberField } from "../room/form/number-field.js";
import { Switch } from "../room/form/switch.js";
import type { IssuesOf, SetOrder } from "./findings.js";
import { switchNames } from "./names.js";
import type { Offer, SwitchName } from "./offer.js";
import type { VideoOrder } from "./order.js";

interface SettingsProps {
  readonly order: VideoOrder;
  readonly offer: Offer;
  readonly issuesOf: IssuesOf;
  readonly onChange: SetOrder;
}

/** What the chosen model lets one choose beside the words. */
export function Settings({ order, offer, issuesOf, onChange }: SettingsProps) {
  const { resolutions, resolutionDefault, ratios, ratioDefault, duration, durationDefault, seed, switches } =
    offer;
  const own = (value: string | undefined) => (value === undefined ? "The model's own" : `Default (${value})`);
  const auto = duration.auto === undefined ? "" : ` ${duration.auto}: the model chooses.`;
  return (
    <>
      <div className="pair">
        <Choice
          name="Resolution"
          value={resolutions.includes(order.resolution) ? order.resolution : ""}
          values={resolutions}
          none={own(resolutionDefault)}
          issues={issuesOf("resolution")}
          onChange={(resolution) => onChange({ resolution })}
        />
        <Choice
          name="Ratio"
          value={ratios.includes(order.ratio) ? order.ratio : ""}
          values={ratios}
          none={own(ratioDefault)}
          issues={issuesOf("ratio")}
          onChange={(ratio) => onChange({ ratio })}
        />
        <NumberField
          name="Duration"
          value={order.duration}
          hint={`${duration.min} to ${duration.max} seconds${
            durationDefault === undefined ? "" : `, by default ${durationDefault}`
          }.${auto}`}
          issues={issuesOf("duration")}
          onChange={(typed) => onChange({ duration: typed })}
        />
        {seed && (
          <NumberField
            name="Seed"
            value={order.seed}
            hint="Empty: another video each time."
            issues={issuesOf("seed")}
            onChange={(typed) => onChange({ seed: typed })}
          />
        )}
      </div>
      <Switches order={order} switches={switches} onChange={onChange} />
    </>
  );
}

interface SwitchesProps {
  readonly order: VideoOrder;
  readonly switches: Offer["switches"];
  readonly onChange: SetOrder;
}

function Switches({ order, switches, onChange }: SwitchesProps) {
  return (
    <div className="field">
      {(Object.keys(switches) as SwitchName[]).map((name) => (
        <Switch
          key={name}
          name={switchNames[name]}
          isOn={order.switches[name] ?? switches[name]?.isOn ?? false}
          onChange={(isOn) => onChange({ switches: { ...order.switches, [name]: isOn } })}
        />
      ))}
    </div>
  );
}
