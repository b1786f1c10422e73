import type { Issue } from "@sluice/core";
import { type ReactNode, useRef, useState } from "react";
import { Choice, Field, focusWrong, Issues, NumberField, Switch } from "../room/field.js";
import { Sources } from "../room/sources.js";
import { mediaNames, switchNames } from "./names.js";
import { type MediaOffer, models, type Offer, type SwitchName } from "./offer.js";
import { findingsOf, offerFor, type VideoOrder } from "./order.js";

interface OrderFormProps {
  readonly order: VideoOrder;
  readonly onChange: (change: (order: VideoOrder) => VideoOrder) => void;
  /** Called with an order that breaks no rule. */
  readonly onSubmit: () => void;
  /** The button. */
  readonly children: ReactNode;
}

type IssuesOf = (field: string) => readonly Issue[];
type SetOrder = (change: Partial<VideoOrder>) => void;

/** What is to be filmed. Made from the table of models: only what the chosen one accepts is there. */
export function OrderForm({ order, onChange, onSubmit, children }: OrderFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [isTried, setTried] = useState(false);
  const findings = findingsOf(order);
  const offer = offerFor(order);
  const set: SetOrder = (change) => onChange((known) => ({ ...known, ...change }));
  const issuesOf: IssuesOf = (field) =>
    // nobody is told that a field is empty before having been there
    field === "prompt" && order.prompt === "" && !isTried
      ? []
      : findings.filter((finding) => finding.field === field).map(({ issue }) => issue);

  return (
    <form
      ref={form}
      className="order"
      aria-label="What to film"
      onSubmit={(event) => {
        event.preventDefault();
        setTried(findings.length > 0);
        if (findings.length === 0) return onSubmit();
        focusWrong(form.current);
      }}
    >
      <h2>Video</h2>
      <Field name="Prompt" issues={issuesOf("prompt")}>
        {(control) => (
          <textarea
            {...control}
            dir="auto"
            rows={4}
            placeholder="A reef at dawn; the camera glides over it"
            value={order.prompt}
            onChange={(event) => set({ prompt: event.target.value })}
          />
        )}
      </Field>
      <Choice
        name="Model"
        value={order.model}
        values={models}
        onChange={(model) => model && set({ model })}
      />
      <Settings order={order} offer={offer} issuesOf={issuesOf} onChange={set} />
      <Media order={order} offers={offer.media} issuesOf={issuesOf} onChange={onChange} />
      {children}
    </form>
  );
}

interface SettingsProps {
  readonly order: VideoOrder;
  readonly offer: Offer;
  readonly issuesOf: IssuesOf;
  readonly onChange: SetOrder;
}

function Settings({ order, offer, issuesOf, onChange }: SettingsProps) {
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
      <div className="field">
        {(Object.keys(switches) as SwitchName[]).map((name) => (
          <Switch
            key={name}
            name={switchNames[name]}
            isOn={order.switches[name] ?? switches[name] ?? false}
            onChange={(isOn) => onChange({ switches: { ...order.switches, [name]: isOn } })}
          />
        ))}
      </div>
    </>
  );
}

interface MediaProps {
  readonly order: VideoOrder;
  readonly offers: readonly MediaOffer[];
  readonly issuesOf: IssuesOf;
  readonly onChange: OrderFormProps["onChange"];
}

/** What the video starts from: frames of its own, or what it takes something from. */
function Media({ order, offers, issuesOf, onChange }: MediaProps) {
  const isFrame = ({ kind }: MediaOffer) => kind === "first_frame" || kind === "last_frame";
  const group = (name: string, members: readonly MediaOffer[]) => {
    const given = members.reduce((sum, { kind }) => sum + (order.media[kind]?.length ?? 0), 0);
    return (
      members.length > 0 && (
        // shut again only by whoever opened it: what was given is never out of sight
        <details key={`${name} ${given > 0}`} className="extras" open={given > 0}>
          <summary>
            {name}
            {given > 0 && `: ${given}`}
          </summary>
          {members.map(({ kind, most, accept }) => (
            <Sources
              key={kind}
              name={mediaNames[kind]}
              sources={order.media[kind] ?? []}
              most={most}
              accept={accept}
              hint={accept ? undefined : "A public link: the gateway downloads it itself."}
              issues={issuesOf(kind)}
              onChange={(change) =>
                onChange((known) => ({
                  ...known,
                  media: { ...known.media, [kind]: change(known.media[kind] ?? []) },
                }))
              }
            />
          ))}
        </details>
      )
    );
  };
  return (
    <>
      {group("Frames", offers.filter(isFrame))}
      {group(
        "References",
        offers.filter((offer) => !isFrame(offer)),
      )}
      <div aria-live="polite">
        <Issues issues={issuesOf("media")} />
      </div>
    </>
  );
}
