import { strToU8, zipSync } from "fflate";
import { saveFile } from "@/components/sluice/save-file";
import type { Project } from "./project.js";

export { projectOf } from "./project.js";

/** Saves a project as a zip, with its folder in it. */
export function saveProject({ name, files }: Project): void {
  const entries = Object.entries(files).map(([path, text]) => [`${name}/${path}`, strToU8(text)]);
  saveFile(new Blob([zipSync(Object.fromEntries(entries))], { type: "application/zip" }), `${name}.zip`);
}

const STACKBLITZ = "https://stackblitz.com/run";

/** Opens a project in a new tab: sends its files to StackBlitz, which makes a project of them. */
export function openInStackBlitz({ title, files }: Project): void {
  const form = document.createElement("form");
  form.method = "post";
  form.action = STACKBLITZ;
  form.target = "_blank";
  form.rel = "noopener";
  const values = {
    "project[title]": title,
    "project[description]": title,
    "project[template]": "node",
    ...Object.fromEntries(Object.entries(files).map(([path, text]) => [`project[files][${path}]`, text])),
  };
  for (const [name, value] of Object.entries(values)) {
    // unlike an input, it keeps line ends
    const field = document.createElement("textarea");
    field.name = name;
    field.value = value;
    form.append(field);
  }
  form.hidden = true;
  document.body.append(form);
  form.submit();
  form.remove();
}
