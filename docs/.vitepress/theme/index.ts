import "@fontsource-variable/geist";
import "@fontsource-variable/geist-mono";
import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import { LiveExample } from "../live/live-example.ts";
import "./theme.css";

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => void app.component("LiveExample", LiveExample),
} satisfies Theme;
