// The documents as a static site: `make site`. Its four doors are those of README.md.
import { readFileSync } from 'node:fs'

const repository = 'https://github.com/winnowhq/winnow/blob/main/'

// Each heading of README.md is a group, each item of its lists a page.
const sidebar: { text: string; items: { text: string; link: string }[] }[] = []
for (const line of readFileSync(new URL('../README.md', import.meta.url), 'utf8').split('\n')) {
  const heading = line.match(/^## (.+)/)
  const item = line.match(/^- \[(\w+)\.md\]/)
  if (heading) sidebar.push({ text: heading[1], items: [] })
  else if (item) sidebar.at(-1)!.items.push({ text: item[1], link: '/' + item[1] })
}

export default {
  title: 'Winnow',
  description: 'Keeps a coding agent\'s session inside its context window, and its bill down, without deleting anything.',
  rewrites: { 'README.md': 'documents.md' }, // index.md is made of the project's README: front.mjs
  lastUpdated: false,
  ignoreDeadLinks: [/^\.?\/?\.\.\//], // files beside docs/, see below
  markdown: {
    // A file beside docs/ is shown by the repository.
    config(md: any) {
      md.core.ruler.push('repository', (state: any) => {
        for (const block of state.tokens)
          for (const token of block.children ?? []) {
            const to = token.type === 'link_open' && token.attrGet('href')
            if (to && to.startsWith('../')) token.attrSet('href', repository + to.slice(3))
          }
      })
    },
  },
  themeConfig: {
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: 'https://github.com/winnowhq/winnow' }],
  },
}
