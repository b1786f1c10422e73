// a file of its own: a bundler leaves out the rest of mediabunny, and loads these names with the first video
export { CustomSource, Input, MP3, MP4, QTFF, WAVE } from "mediabunny";
