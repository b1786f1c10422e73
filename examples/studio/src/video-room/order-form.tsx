import { type ReactNode, useRef, useState } from "react";
import { Choice } from "../room/form/choice.js";
import { Field } from "../room/form/field.js";
import { focusWrong } from "../room/form/focus-wrong.js";
import { type ChangeOrder, findingsOf, type IssuesOf, type SetOrder } from "./findings.js";
import { models } from "./offer.js";
import { offerFor, type VideoOrder } from "./order.js";
import { Settings } from "./settings.js";
import { StartingPoints } from "./starting-points.js";

interface OrderFormProps {
  readonly order: VideoOrder;
  readonly onChange: ChangeOrder;
  /** Called with an order that breaks no rule. */
  readonly onSubmit: () => void;
  /** The button. */
  readonly children: ReactNode;
}

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
      <StartingPoints order={order} offers={offer.media} issuesOf={issuesOf} onChange={onChange} />
      {children}
    </form>
  );
}
