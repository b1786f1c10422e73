import { withBase } from "vitepress";
import { defineComponent, h, onBeforeUnmount, onMounted, reactive } from "vue";
import type { LiveModule, Page } from "./page.ts";
import "./live-example.css";

const modules = import.meta.glob<LiveModule>("./examples/*.ts");

type Media = Parameters<Page["show"]>[0];

/** Shows an example's code, its slot, and runs the same file when the reader asks for it. */
export const LiveExample = defineComponent({
  props: {
    /** Name of a file of `examples/`. */
    name: { type: String, required: true },
    /** Texts to choose from. The example gets the selected text. */
    choices: { type: Array<string>, default: () => [] },
    /** Goes on by itself after a reload. */
    survives: Boolean,
  },
  setup({ name, choices, survives }, { slots }) {
    const view = reactive({ output: "", media: [] as Media[], isRunning: false, choice: choices[0] ?? "" });
    const flag = `live ${name}`;
    let controller: AbortController | undefined;

    onMounted(() => {
      if (survives && sessionStorage.getItem(flag)) void start();
    });
    onBeforeUnmount(() => controller?.abort());

    async function start(): Promise<void> {
      controller = new AbortController();
      const { signal } = controller;
      Object.assign(view, { output: "", media: [], isRunning: true });
      if (survives) sessionStorage.setItem(flag, "running");
      try {
        const { startGateway } = await import("./start.ts");
        const [module, baseURL] = await Promise.all([
          modules[`./examples/${name}.ts`]?.(),
          startGateway(withBase("/")),
        ]);
        await module?.run({ baseURL, choice: view.choice, signal, write, show });
      } catch (error) {
        write(signal.aborted ? "\nStopped." : `\n${(error as Error).name}: ${(error as Error).message}`);
      }
      view.isRunning = false;
      sessionStorage.removeItem(flag);
    }

    function write(text: string): void {
      view.output += text;
    }
    function show(media: Media): void {
      view.media.push(media);
    }

    return () =>
      h("section", { class: "live", "aria-label": `Live example: ${name}` }, [
        slots["default"]?.(),
        h("div", { class: "live-controls" }, [
          choices.length > 0 &&
            h("label", [
              "Fault ",
              h(
                "select",
                {
                  disabled: view.isRunning,
                  onChange: (event: Event) => {
                    view.choice = (event.target as HTMLSelectElement).value;
                  },
                },
                choices.map((choice) => h("option", choice)),
              ),
            ]),
          h("button", { type: "button", disabled: view.isRunning, onClick: start }, "Run"),
          h(
            "button",
            { type: "button", disabled: !view.isRunning, onClick: () => controller?.abort() },
            "Stop",
          ),
        ]),
        h("div", { class: "live-output", role: "log", "aria-label": "Output" }, [
          h("pre", { tabindex: 0 }, view.output),
          view.media.map(({ type, url, alt }) =>
            type === "image"
              ? h("img", { src: url, alt })
              : h("video", { src: url, controls: true, "aria-label": alt }),
          ),
        ]),
      ]);
  },
});
