// Manifests that are wrong: listed as problems with file:line:col, never hiding the good one beside them.
#include "tests/badplugins/support.h"

namespace zomboss::badplugins {
namespace {

struct Case {
  const char* name;
  const char* text;
  const char* message;  // after "ZB-LOAD-04: a plugin manifest is ignored\n"
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

class BadManifest : public ::testing::TestWithParam<Case> {};

TEST_P(BadManifest, IsAProblemAndHidesNothing) {
  Folder folder;
  folder.copy_good();
  folder.write("bad.plugin.toml", GetParam().text);
  const auto found = loader::discover(loader::search_path_of({folder.path()}));
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_EQ(found.problems[0].path, folder / "bad.plugin.toml");
  EXPECT_EQ(without_folder(found.problems[0].text, folder.path()),
            std::string("ZB-LOAD-04: a plugin manifest is ignored\n") + GetParam().message);
  EXPECT_EQ(load_message(folder.path(), "good"), "loaded");
}

const Case kCases[] = {
    {"syntax", "id = \"x\"\nkind = policy\n",
     "$DIR/bad.plugin.toml:2:8: error: not valid TOML: error while parsing value: could not determine value "
     "type\n"
     "  kind = policy\n"
     "         ^"},
    {"unknown_key",
     "id = \"x\"\nkind = \"policy\"\nversion = \"1.0.0\"\nabi = \"1.0\"\nfile = \"x.so\"\ndescripton = "
     "\"d\"\n",
     "$DIR/bad.plugin.toml:6:1: error: unknown key 'descripton'; did you mean 'description'?\n"
     "  descripton = \"d\"\n"
     "  ^\n"
     "  hint: known keys: id, kind, version, abi, file, description, sha256"},
    {"missing_keys", "id = \"x\"\nkind = \"policy\"\nversion = \"1.0.0\"\n",
     "$DIR/bad.plugin.toml:1:1: error: the key 'abi' is missing\n"
     "  id = \"x\"\n"
     "  ^\n"
     "  hint: add abi = \"...\"\n"
     "$DIR/bad.plugin.toml:1:1: error: the key 'file' is missing\n"
     "  id = \"x\"\n"
     "  ^\n"
     "  hint: add file = \"...\""},
    {"wrong_type", "id = 7\nkind = [\"policy\"]\nversion = 1.0\nabi = \"1.0\"\nfile = \"x.so\"\n",
     "$DIR/bad.plugin.toml:1:6: error: 'id' is an integer, expected a string\n"
     "  id = 7\n"
     "       ^\n"
     "  hint: write id = \"...\"\n"
     "$DIR/bad.plugin.toml:2:8: error: 'kind' is an array, expected a string\n"
     "  kind = [\"policy\"]\n"
     "         ^\n"
     "  hint: write kind = \"...\"\n"
     "$DIR/bad.plugin.toml:3:11: error: 'version' is a float, expected a string\n"
     "  version = 1.0\n"
     "            ^\n"
     "  hint: write version = \"...\""},
    {"bad_values",
     "id = \"X Y\"\nkind = \"polcy\"\nversion = \"new\"\nabi = \"one\"\nfile = \"../x.so\"\nsha256 = "
     "\"12\"\n",
     "$DIR/bad.plugin.toml:1:6: error: 'id' must be 1 to 64 of a-z, 0-9, '_' and '-', the first a letter\n"
     "  id = \"X Y\"\n"
     "       ^\n"
     "$DIR/bad.plugin.toml:2:8: error: 'kind' must be \"target\" or \"policy\"\n"
     "  kind = \"polcy\"\n"
     "         ^\n"
     "$DIR/bad.plugin.toml:3:11: error: 'version' must be a version such as \"1.0.0\"\n"
     "  version = \"new\"\n"
     "            ^\n"
     "$DIR/bad.plugin.toml:4:7: error: 'abi' must be MAJOR.MINOR such as \"1.0\"\n"
     "  abi = \"one\"\n"
     "        ^\n"
     "$DIR/bad.plugin.toml:5:8: error: 'file' must be the name of a file beside the manifest, without '/'\n"
     "  file = \"../x.so\"\n"
     "         ^\n"
     "$DIR/bad.plugin.toml:6:10: error: 'sha256' must be 64 lower-case hexadecimal digits\n"
     "  sha256 = \"12\"\n"
     "           ^"},
    {"control_characters",
     "id = \"x\"\nkind = \"policy\"\nversion = \"1.0.0\"\nabi = \"1.0\"\nfile = \"x.so\"\ndescription = "
     "\"\\u001b[2J\"\n",
     "$DIR/bad.plugin.toml:6:15: error: 'description' must be one line of at most 500 bytes without control "
     "characters\n"
     "  description = \"\\u001b[2J\"\n"
     "                ^"},
    {"empty", "",
     "$DIR/bad.plugin.toml:1:1: error: the key 'id' is missing\n"
     "  \n"
     "  ^\n"
     "  hint: add id = \"...\"\n"
     "$DIR/bad.plugin.toml:1:1: error: the key 'kind' is missing\n"
     "  \n"
     "  ^\n"
     "  hint: add kind = \"...\"\n"
     "$DIR/bad.plugin.toml:1:1: error: the key 'version' is missing\n"
     "  \n"
     "  ^\n"
     "  hint: add version = \"...\"\n"
     "$DIR/bad.plugin.toml:1:1: error: the key 'abi' is missing\n"
     "  \n"
     "  ^\n"
     "  hint: add abi = \"...\"\n"
     "$DIR/bad.plugin.toml:1:1: error: the key 'file' is missing\n"
     "  \n"
     "  ^\n"
     "  hint: add file = \"...\""},
};
INSTANTIATE_TEST_SUITE_P(All, BadManifest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(BadManifestFile, TooLargePipeOrDeeplyNestedIsAProblem) {
  Folder folder;
  folder.copy_good();
  folder.write("large.plugin.toml", std::string(100'000, '#'));
  folder.write("nested.plugin.toml", "id = " + std::string(30'000, '['));
  folder.write("binary.plugin.toml", std::string("\x7f\x45\x4c\x46\0\xff\xfe", 7));
  ASSERT_EQ(::mkfifo((folder / "pipe.plugin.toml").c_str(), 0644), 0);
  std::filesystem::create_directory(folder / "folder.plugin.toml");
  const auto found = loader::discover(loader::search_path_of({folder.path()}));
  EXPECT_EQ(found.problems.size(), 5u);
  EXPECT_EQ(found.manifests.size(), 1u);
}

TEST(BadManifestAbi, OfAnotherMajorIsRefusedBeforeLoading) {
  Folder folder;
  folder.copy_good();
  folder.write("good.plugin.toml",
               "id = \"good\"\nkind = \"policy\"\nversion = \"1.0.0\"\nabi = \"2.0\"\nfile = \"good.so\"\n");
  EXPECT_EQ(
      load_message(folder.path(), "good"),
      "ZB-LOAD-06: policy 'good' 1.0.0 is refused: its manifest says that it was built for another ABI\n"
      "  file: $DIR/good.so\n"
      "  built for ABI 2.0; this host speaks ABI 1.0\n"
      "  next: rebuild it against the headers of ABI 1, or use the zomboss that it was made for");
}

}  // namespace
}  // namespace zomboss::badplugins
