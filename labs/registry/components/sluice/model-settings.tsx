"use client";

import type { ChatModel } from "@sluice/core";
import { ChevronRight } from "lucide-react";
import { describeChatModel } from "@/components/sluice/chat-form";
import { FieldControl } from "@/components/sluice/field-control";
import { Field, Switch, TextArea } from "@/components/sluice/fields";
import type { FormValues } from "@/components/sluice/form-fields";
import { settingsWords } from "@/components/sluice/form-words";

/** Settings of a chat. A model ignores settings that it does not have. */
interface Settings {
  /** Values of the form of the model, for `createChatTarget`: thinking, effort, temperature, … */
  readonly values: FormValues;
  /** Says if tools are offered. */
  readonly offersTools: boolean;
  /** Says if the response is a JSON object. */
  readonly wantsJSON: boolean;
  /** System prompt. */
  readonly instructions: string;
}

interface ModelSettingsProps {
  /** Model whose settings are shown. */
  readonly model: ChatModel;
  readonly settings: Settings;
  readonly onChange: (changes: Partial<Settings>) => void;
}

/** The settings that the model has, made from its table. */
export function ModelSettings({ model, settings, onChange }: ModelSettingsProps) {
  const { values, offersTools, wantsJSON, instructions } = settings;
  const { fields, tools, hasJSONMode } = describeChatModel(model, values);
  const shown = fields.filter(({ isShown }) => isShown);
  const controls = (isAdvanced: boolean) =>
    shown
      .filter((field) => field.isAdvanced === isAdvanced)
      .map((field) => (
        <FieldControl
          key={field.name}
          field={field}
          value={values[field.name]}
          onChange={(value) => onChange({ values: { ...values, [field.name]: value } as FormValues })}
        />
      ));
  return (
    <>
      <Switch
        label={settingsWords.tools}
        checked={offersTools && tools !== "no"}
        disabled={tools === "no"}
        onChange={(isOn) => onChange({ offersTools: isOn })}
      />
      {tools === "unlisted" && offersTools && (
        <p className="-mt-3 text-xs text-muted-foreground">{settingsWords.toolsUnlisted}</p>
      )}
      {controls(false)}
      {hasJSONMode && (
        <Switch
          label={settingsWords.wantsJSON}
          checked={wantsJSON}
          onChange={(isOn) => onChange({ wantsJSON: isOn })}
        />
      )}
      <details className="group flex flex-col gap-4">
        <summary className="flex min-h-8 pointer-coarse:min-h-11 list-none items-center gap-1 rounded-lg text-sm text-muted-foreground hover:text-foreground">
          <ChevronRight aria-hidden className="size-4 transition-transform group-open:rotate-90" />
          {settingsWords.advanced}
        </summary>
        <div className="flex flex-col gap-4 pt-2">
          {controls(true)}
          <Field label={settingsWords.instructions} hint={settingsWords.instructionsHint}>
            <TextArea
              value={instructions}
              placeholder={settingsWords.instructionsExample}
              onChange={({ target }) => onChange({ instructions: target.value })}
            />
          </Field>
        </div>
      </details>
    </>
  );
}
