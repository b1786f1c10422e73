"use client";

import type { ChatModel } from "@sluice/core";
import { Brain, Check, ChevronDown, Eye, Sparkles, Wrench } from "lucide-react";
import { type ReactNode, useId } from "react";
import { Button } from "@/components/sluice/button";
import { describeChatModel } from "@/components/sluice/chat-form";
import { modelWords } from "@/components/sluice/form-words";
import { Popover } from "@/components/sluice/popups";
import { cn } from "@/lib/utils";

/** A model that can be chosen. */
interface ModelChoice<Model extends ChatModel> {
  readonly id: Model;
  readonly name: string;
  /** A few words about it. */
  readonly note?: string;
}

interface ModelMenuProps<Model extends ChatModel> {
  readonly models: readonly ModelChoice<Model>[];
  /** Id of the model that is chosen. */
  readonly model: Model;
  readonly onChange: (model: Model) => void;
}

/** The choice of the model, with what each one can do. */
export function ModelMenu<Model extends ChatModel>(props: ModelMenuProps<Model>) {
  const { models, model, onChange } = props;
  const label = modelWords.model;
  const name = models.find(({ id }) => id === model)?.name ?? model;
  const group = useId();
  return (
    <Popover
      title={label}
      trigger={
        <Button variant="quiet" aria-label={`${label}: ${name}`} className="min-w-0 px-2">
          <span className="truncate [@media(height<32rem)]:sr-only">{name}</span>
          <Sparkles aria-hidden className="[@media(height>=32rem)]:hidden" />
          <ChevronDown aria-hidden className="[@media(height<32rem)]:hidden" />
        </Button>
      }
    >
      <div role="radiogroup" aria-label={label} className="-m-2 flex flex-col gap-1">
        {models.map((choice) => (
          <ModelRow
            key={choice.id}
            choice={choice}
            group={group}
            isChosen={choice.id === model}
            onChoose={() => onChange(choice.id)}
          />
        ))}
      </div>
    </Popover>
  );
}

interface ModelRowProps {
  readonly choice: ModelChoice<ChatModel>;
  readonly group: string;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function ModelRow({ choice, group, isChosen, onChoose }: ModelRowProps) {
  const { id, name, note } = choice;
  const { seesImages, tools, thinking } = describeChatModel(id);
  return (
    <label
      className={cn(
        "flex min-h-8 cursor-pointer items-center gap-3 rounded-lg px-2 py-1.5 text-start text-sm hover:bg-secondary",
        "pointer-coarse:min-h-11 has-focus-visible:outline-2 has-focus-visible:outline-primary",
      )}
    >
      <input
        type="radio"
        name={group}
        value={id}
        checked={isChosen}
        onChange={onChoose}
        aria-label={name}
        className="sr-only"
      />
      <span className="grow">
        <span className="block font-medium">{name}</span>
        {note && <span className="block text-xs text-muted-foreground">{note}</span>}
      </span>
      <span className="flex gap-1.5 text-muted-foreground">
        {seesImages && <Ability label={modelWords.seesImages} icon={<Eye aria-hidden />} />}
        {tools !== "no" && <Ability label={modelWords.callsTools} icon={<Wrench aria-hidden />} />}
        {thinking !== "never" && <Ability label={modelWords.thinks} icon={<Brain aria-hidden />} />}
      </span>
      <Check aria-hidden className={cn("size-4 text-primary", !isChosen && "invisible")} />
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
