import { type ChatModel, chatModels } from "@sluice/core/schemas";
import { memo, useId } from "react";
import { type ChatSettings, type Effort, effortsOf, models, thinkingOf, toolsOf } from "./settings.js";
import "../room/form/switch.css";
import "./model-picker.css";

interface ModelPickerProps {
  readonly settings: ChatSettings;
  readonly onChange: (settings: ChatSettings) => void;
}

/** Which model answers, and how hard it thinks. Made from the table of models, so that it offers what is accepted. */
export const ModelPicker = memo(function ModelPicker({ settings, onChange }: ModelPickerProps) {
  const thinking = thinkingOf(settings);
  const tools = toolsOf(settings);
  const setModel = (model: string) => onChange({ ...settings, model: model as ChatModel });

  return (
    <div className="picker">
      <select aria-label="Model" value={settings.model} onChange={(event) => setModel(event.target.value)}>
        {models.map((model) => (
          <option key={model}>{model}</option>
        ))}
      </select>
      <Switch name="Thinking" {...thinking} onChange={(thinks) => onChange({ ...settings, thinks })} />
      {thinking.isOn && <EffortPicker settings={settings} onChange={onChange} />}
      <Switch name="Tools" {...tools} onChange={(offersTools) => onChange({ ...settings, offersTools })} />
    </div>
  );
});

interface SwitchProps {
  readonly name: string;
  readonly isOn: boolean;
  /** Why nobody can change it. */
  readonly fixed?: string;
  readonly note?: string;
  readonly onChange: (isOn: boolean) => void;
}

function Switch({ name, isOn, fixed, note, onChange }: SwitchProps) {
  const reason = useId();
  const said = fixed ?? note;
  return (
    <>
      <label className="switch">
        <input
          type="checkbox"
          role="switch"
          aria-describedby={said && reason}
          aria-checked={isOn}
          checked={isOn}
          disabled={fixed !== undefined}
          onChange={(event) => onChange(event.target.checked)}
        />
        {name}
      </label>
      {said && (
        <span id={reason} className="reason">
          {said}
        </span>
      )}
    </>
  );
}

function EffortPicker({ settings, onChange }: ModelPickerProps) {
  const setEffort = (effort: string) => onChange({ ...settings, effort: (effort as Effort) || undefined });
  return (
    <select
      aria-label="Reasoning effort"
      value={settings.effort ?? ""}
      onChange={(event) => setEffort(event.target.value)}
    >
      <option value="">{defaultEffortOf(settings.model)}</option>
      {effortsOf(settings.model).map((effort) => (
        <option key={effort} value={effort}>
          Effort: {effort}
        </option>
      ))}
    </select>
  );
}

function defaultEffortOf(model: ChatModel): string {
  const row = chatModels[model];
  return "reasoningEffortDefault" in row
    ? `Effort: default (${row.reasoningEffortDefault})`
    : "Effort: default";
}
