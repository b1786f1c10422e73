import { checkImageRequest } from "@sluice/core/schemas";
import type { ReactNode } from "react";
import { acceptedTypes } from "../images/accepted.js";
import { Choice } from "../room/form/choice.js";
import { Field } from "../room/form/field.js";
import { issuesAt } from "../room/form/issues.js";
import { NumberField } from "../room/form/number-field.js";
import { Switch } from "../room/form/switch.js";
import { Sources } from "../room/sources/sources.js";
import { Logo } from "./logo.js";
import { type ImageOrder, models, requestOf, sizesOf, withModel } from "./order.js";

interface OrderFormProps {
  readonly order: ImageOrder;
  readonly onChange: (change: (order: ImageOrder) => ImageOrder) => void;
  readonly onSubmit: () => void;
  /** The buttons. */
  readonly children: ReactNode;
}

/** What is to be drawn. Made from the table of models, and checked by the rules of the chosen one. */
export function OrderForm({ order, onChange, onSubmit, children }: OrderFormProps) {
  const { prompt, model, size, seed, isSequence, most, hasWatermark, hasLogo, logo, references } = order;
  const { issues } = checkImageRequest(requestOf(order));
  const set = (change: Partial<ImageOrder>) => onChange((known) => ({ ...known, ...change }));

  return (
    <form
      className="order"
      aria-label="What to draw"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <h2>Images</h2>
      <Field name="Prompt" issues={issuesAt(issues, "prompt")}>
        {(control) => (
          <textarea
            {...control}
            dir="auto"
            rows={4}
            placeholder="A reef at dawn"
            value={prompt}
            onChange={(event) => set({ prompt: event.target.value })}
          />
        )}
      </Field>
      <Choice
        name="Model"
        value={model}
        values={models}
        onChange={(chosen) => chosen && onChange((known) => withModel(known, chosen))}
      />
      <div className="pair">
        <Choice
          name="Size"
          value={size}
          values={sizesOf(model)}
          none="The model's own"
          issues={issuesAt(issues, "size")}
          onChange={(chosen) => set({ size: chosen })}
        />
        <NumberField
          name="Seed"
          value={seed}
          hint="Leave it empty for another image each time."
          issues={issuesAt(issues, "seed")}
          onChange={(typed) => set({ seed: typed })}
        />
      </div>
      <div className="field">
        <Switch
          name="Several that belong together"
          isOn={isSequence}
          onChange={(isOn) => set({ isSequence: isOn })}
        />
        <Switch name="Watermark" isOn={hasWatermark} onChange={(isOn) => set({ hasWatermark: isOn })} />
        <Switch name="Logo" isOn={hasLogo} onChange={(isOn) => set({ hasLogo: isOn })} />
      </div>
      {isSequence && (
        <NumberField
          name="At most"
          value={most}
          hint="The model decides how many; each one is billed."
          issues={issuesAt(issues, "sequential_image_generation_options")}
          onChange={(typed) => set({ most: typed })}
        />
      )}
      {hasLogo && (
        <Logo
          logo={logo}
          issues={issues}
          onChange={(change) => onChange((known) => ({ ...known, logo: { ...known.logo, ...change } }))}
        />
      )}
      <Sources
        name="Reference images"
        sources={references}
        accept={acceptedTypes.join()}
        issues={issuesAt(issues, "image")}
        onChange={(change) => onChange((known) => ({ ...known, references: change(known.references) }))}
      />
      {children}
    </form>
  );
}
