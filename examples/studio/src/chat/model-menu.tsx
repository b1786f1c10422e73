import { useStore } from "@nanostores/react";
import { chatModelInfo } from "@sluice/react/app";
import clsx from "clsx";
import { Brain, Check, ChevronDown, Eye, SlidersHorizontal, Sparkles, Wrench } from "lucide-react";
import type { ReactNode } from "react";
import { Button, IconButton, Skeleton } from "../ui/button.js";
import { later } from "../ui/later.js";
import { Popover } from "../ui/popups.js";
import { changeSettings, chatSettings, models, modelWords } from "./settings.js";

type Model = (typeof models)[number];

const Parameters = later(async () => (await import("./parameters.js")).Parameters);

interface ModelMenuProps {
  readonly model: Model;
  readonly onChange: (model: Model) => void;
  /** Name of the button. @default "Model" */
  readonly label?: string;
}

/** The choice of the model, with what each one can do. */
export function ModelMenu({ model, onChange, label = "Model" }: ModelMenuProps) {
  const { name } = modelWords[model];
  return (
    <Popover
      title={label}
      trigger={
        <Button look="quiet" aria-label={`${label}: ${name}`} className="min-w-0 px-2">
          <span className="truncate short:sr-only">{name}</span>
          <Sparkles aria-hidden className="not-short:hidden" />
          <ChevronDown aria-hidden className="short:hidden" />
        </Button>
      }
    >
      <div role="radiogroup" aria-label={label} className="-m-2 flex flex-col gap-1">
        {models.map((one) => (
          <ModelRow key={one} model={one} isChosen={one === model} onChoose={() => onChange(one)} />
        ))}
      </div>
    </Popover>
  );
}

interface ModelRowProps {
  readonly model: Model;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function ModelRow({ model, isChosen, onChoose }: ModelRowProps) {
  const { name, note } = modelWords[model];
  const { seesImages, tools, thinking } = chatModelInfo(model);
  return (
    <label
      className={clsx(
        "control flex cursor-pointer items-center gap-3 rounded-lg px-2 py-1.5 text-left text-sm hover:bg-hover",
        "has-focus-visible:outline-2 has-focus-visible:outline-accent",
      )}
    >
      <input
        type="radio"
        name="model"
        value={model}
        checked={isChosen}
        onChange={onChoose}
        aria-label={name}
        className="sr-only"
      />
      <span className="grow">
        <span className="block font-medium">{name}</span>
        <span className="block text-xs text-muted">{note}</span>
      </span>
      <span className="flex gap-1.5 text-muted">
        {seesImages && <Ability label="Sees images" icon={<Eye aria-hidden />} />}
        {tools !== "no" && <Ability label="Calls tools" icon={<Wrench aria-hidden />} />}
        {thinking !== "never" && <Ability label="Thinks" icon={<Brain aria-hidden />} />}
      </span>
      <Check aria-hidden className={clsx("size-4 text-accent", !isChosen && "invisible")} />
    </label>
  );
}

function Ability({ label, icon }: { readonly label: string; readonly icon: ReactNode }) {
  return (
    <span role="img" aria-label={label} data-tip={label} className="[&_svg]:size-4">
      {icon}
    </span>
  );
}

/** The settings of the model, and whether tools are offered. */
export function SettingsMenu() {
  const settings = useStore(chatSettings);
  return (
    <Popover
      title="Settings"
      trigger={
        <IconButton label="Settings">
          <SlidersHorizontal aria-hidden />
        </IconButton>
      }
    >
      <Parameters settings={settings} onChange={changeSettings} fallback={<Skeleton className="h-40" />} />
    </Popover>
  );
}
