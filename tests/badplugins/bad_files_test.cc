// Files that are no plugins, damaged or unsafe, search folders, and the allow-list.
#include <elf.h>

#include <cstring>

#include "host/loader/allow_list.h"
#include "host/loader/elf.h"
#include "host/loader/refusal.h"
#include "tests/badplugins/support.h"

namespace zomboss::badplugins {
namespace {

using loader::Kind;

// The refusal of the good plugin after `change` of its bytes: the first line's reason.
std::string reason_after(const std::function<void(std::string&)>& change) {
  Folder folder;
  folder.copy_good();
  std::string bytes = read_file(folder / "good.so");
  change(bytes);
  folder.write("good.so", bytes);
  const std::string message = load_message(folder.path(), "good");
  return message.substr(0, message.find('\n'));
}

const std::string kRefused = ": policy 'good' 1.0.0 is refused: ";

TEST(BadFile, TextIsNotASharedObject) {
  EXPECT_EQ(reason_after([](std::string& b) { b = "#!/bin/sh\n"; }),
            "ZB-LOAD-10" + kRefused + "the file is not a shared object (no ELF header)");
  EXPECT_EQ(reason_after([](std::string& b) { b.clear(); }),
            "ZB-LOAD-10" + kRefused + "the file is not a shared object (no ELF header)");
}
TEST(BadFile, ThirtyTwoBitIsTheWrongMachine) {
  EXPECT_EQ(reason_after([](std::string& b) { b[EI_CLASS] = ELFCLASS32; }),
            "ZB-LOAD-11" + kRefused + "the file is a 32-bit library, this program is 64-bit");
}
TEST(BadFile, OtherByteOrderIsTheWrongMachine) {
  EXPECT_EQ(reason_after([](std::string& b) { b[EI_DATA] = ELFDATA2MSB; }),
            "ZB-LOAD-11" + kRefused + "the file has the other byte order than this machine");
}
TEST(BadFile, OtherProcessorIsNamed) {
  const std::string reason = reason_after([](std::string& b) {
    const uint16_t machine = EM_SPARCV9;
    std::memcpy(b.data() + offsetof(Elf64_Ehdr, e_machine), &machine, sizeof machine);
  });
  EXPECT_EQ(reason.rfind("ZB-LOAD-11" + kRefused + "the file is for ELF machine 43, this program is for ", 0),
            0u)
      << reason;
}
TEST(BadFile, ProgramIsNotASharedObject) {
  const std::string reason = reason_after([](std::string& b) {
    const uint16_t type = ET_REL;
    std::memcpy(b.data() + offsetof(Elf64_Ehdr, e_type), &type, sizeof type);
  });
  EXPECT_EQ(reason, "ZB-LOAD-10" + kRefused + "the file is an ELF object or program, not a shared object");
}

// Every prefix of a plugin is refused before it is loaded; nothing crashes.
TEST(BadFile, TruncatedAnywhereIsRefused) {
  const std::string bytes = read_file(kPlugins + "/good.so");
  for (size_t size = 0; size < bytes.size(); size += size < 4096 ? 1 : 97)
    EXPECT_NE(loader::inspect_elf(std::string_view(bytes).substr(0, size)).problem, "") << size;
  EXPECT_EQ(reason_after([](std::string& b) { b.resize(b.size() / 2); }).substr(0, 10), "ZB-LOAD-10");
}

// Any one byte of the headers replaced: an answer, never a crash or an endless loop.
TEST(BadFile, InspectionSurvivesDamagedHeaders) {
  const std::string bytes = read_file(kPlugins + "/good.so");
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::vector<size_t> places;
  for (size_t i = 0; i < 1024; ++i) places.push_back(i);
  for (size_t i = header.e_shoff; i < bytes.size(); ++i) places.push_back(i);
  size_t refused = 0;
  for (const size_t at : places)
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string damaged = bytes;
      damaged[at] = value;
      refused += loader::inspect_elf(damaged).problem.empty() ? 0 : 1;
    }
  EXPECT_GT(refused, 100u);
}

TEST(BadFile, MissingFileIsNamed) {
  Folder folder;
  folder.copy_good();
  std::filesystem::remove(folder / "good.so");
  EXPECT_EQ(load_message(folder.path(), "good"),
            "ZB-LOAD-05: policy 'good' 1.0.0 is refused: $DIR/good.so: no such file\n"
            "  file: $DIR/good.so\n"
            "  built for ABI 1.0; this host speaks ABI 1.0\n"
            "  next: build or install the plugin again");
}
TEST(BadFile, FolderOrPipeInItsPlaceIsRefusedWithoutWaiting) {
  Folder folder;
  folder.copy_good();
  std::filesystem::remove(folder / "good.so");
  ASSERT_EQ(::mkfifo((folder / "good.so").c_str(), 0644), 0);
  EXPECT_EQ(load_message(folder.path(), "good").substr(0, 10), "ZB-LOAD-05");
  std::filesystem::remove(folder / "good.so");
  std::filesystem::create_directory(folder / "good.so");
  EXPECT_EQ(load_message(folder.path(), "good").substr(0, 10), "ZB-LOAD-05");
}

TEST(UnsafePath, WorldWritableFileIsRefused) {
  Folder folder;
  folder.copy_good();
  ::chmod((folder / "good.so").c_str(), 0666);
  EXPECT_EQ(load_message(folder.path(), "good"),
            "ZB-LOAD-03: policy 'good' 1.0.0 is refused: anybody may write to $DIR/good.so (mode 0666); run: "
            "chmod o-w "
            "$DIR/good.so\n"
            "  file: $DIR/good.so\n"
            "  built for ABI 1.0; this host speaks ABI 1.0\n"
            "  next: make the file and its folders yours alone");
}
TEST(UnsafePath, WorldWritableManifestIsAProblem) {
  Folder folder;
  folder.copy_good();
  ::chmod((folder / "good.plugin.toml").c_str(), 0646);
  const auto found = loader::discover(loader::search_path_of({folder.path()}));
  EXPECT_TRUE(found.manifests.empty());
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_EQ(without_folder(found.problems[0].text, folder.path()),
            "ZB-LOAD-03: manifest $DIR/good.plugin.toml is ignored: anybody may write to "
            "$DIR/good.plugin.toml (mode "
            "0646); run: chmod o-w $DIR/good.plugin.toml");
}
TEST(UnsafePath, WorldWritableFolderIsNotSearchedStickyOrNot) {
  for (const mode_t mode : {mode_t{0777}, mode_t{01777}}) {
    Folder folder;
    folder.copy_good();
    ::chmod(folder.path().c_str(), mode);
    const auto path = loader::search_path_of({folder.path()});
    EXPECT_TRUE(path.directories.empty());
    ASSERT_EQ(path.problems.size(), 1u);
    EXPECT_EQ(path.problems[0].substr(0, 10), "ZB-LOAD-03");
  }
}
TEST(UnsafePath, FolderInsideAWorldWritableOneIsNotSearchedUnlessThatIsSticky) {
  Folder outer;
  const std::string inner = outer / "inner";
  std::filesystem::create_directory(inner);
  ::chmod(outer.path().c_str(), 0777);
  EXPECT_TRUE(loader::search_path_of({inner}).directories.empty());
  ::chmod(outer.path().c_str(), 01777);
  EXPECT_EQ(loader::search_path_of({inner}).directories, std::vector<std::string>{inner});
}
TEST(UnsafePath, CurrentFolderIsNeverSearched) {
  EXPECT_EQ(
      loader::search_path_of({"."}).problems,
      std::vector<std::string>{"ZB-LOAD-03: plugin folder '.' is ignored: plugins are never taken from the "
                               "current folder by default; name it in full"});
  EXPECT_TRUE(loader::search_path_of({""}).directories.empty());
}
TEST(UnsafePath, LinkToASafeFileElsewhereIsCheckedWhereItLeads) {
  Folder folder, other;
  other.copy_good();
  std::filesystem::copy_file(other / "good.plugin.toml", folder / "good.plugin.toml");
  std::filesystem::create_symlink(other / "good.so", folder / "good.so");
  EXPECT_EQ(load_message(folder.path(), "good"), "loaded");
  ::chmod((other / "good.so").c_str(), 0666);
  EXPECT_EQ(load_message(folder.path(), "good").substr(0, 10), "ZB-LOAD-03");
}

TEST(SearchPath, TakesTheEnvironmentAndTheUsersFolder) {
  Folder folder, data;
  const std::string user = data / "zomboss/plugins";
  std::filesystem::create_directories(user);
  ::setenv("ZB_PLUGIN_PATH", (":relative/folder:" + folder.path() + "::/does/not/exist").c_str(), 1);
  ::setenv("XDG_DATA_HOME", data.path().c_str(), 1);
  const auto path = loader::default_search_path({});
  ::unsetenv("ZB_PLUGIN_PATH");
  ::unsetenv("XDG_DATA_HOME");
  ASSERT_GE(path.directories.size(), 2u);
  EXPECT_EQ(path.directories[0], folder.path());
  EXPECT_EQ(path.directories[1], user);
  EXPECT_EQ(
      path.problems,
      std::vector<std::string>{
          "ZB-LOAD-03: plugin folder 'relative/folder' of ZB_PLUGIN_PATH is ignored: it is not absolute"});
}
TEST(SearchPath, FirstFolderWinsAndTheOtherIsReportedHidden) {
  Folder one, two;
  one.copy_good();
  two.copy_good();
  const auto found = loader::discover(loader::search_path_of({one.path(), two.path()}));
  ASSERT_EQ(found.manifests.size(), 1u);
  EXPECT_EQ(found.manifests[0].library, one / "good.so");
  ASSERT_EQ(found.hidden.size(), 1u);
  EXPECT_EQ(found.hidden[0].library, two / "good.so");
}
TEST(SearchPath, MissingFolderThatWasAskedForIsAProblem) {
  const auto path = loader::search_path_of({"/does/not/exist"});
  EXPECT_EQ(path.problems,
            std::vector<std::string>{"ZB-LOAD-03: plugin folder '/does/not/exist' is ignored: it does "
                                     "not exist or cannot be read"});
}

TEST(NotFound, SuggestsTheNearestIdAndSaysWhereItLooked) {
  Folder folder;
  folder.copy_good();
  EXPECT_EQ(load_message(folder.path(), "god"),
            "ZB-LOAD-01: no policy 'god' is installed; did you mean 'good'?\n"
            "  installed: good\n"
            "  searched: $DIR\n"
            "  next: check the spelling, or name the folder of the plugin with --plugin-dir");
}
TEST(NotFound, SaysWhenTheIdIsOfTheOtherKind) {
  Folder folder;
  folder.copy_good();
  EXPECT_EQ(load_message(folder.path(), "good", Kind::kTarget),
            "ZB-LOAD-02: policy 'good' 1.0.0 is refused: it is a policy, not a target\n"
            "  file: $DIR/good.so\n"
            "  built for ABI 1.0; this host speaks ABI 1.0\n"
            "  next: known ids of kind target: none");
}

class AllowListTest : public ::testing::Test {
 protected:
  void SetUp() override { folder_.copy_good(); }
  std::string load() {
    loader::Loader loader({loader::search_path_of({folder_.path()}), folder_ / "plugins.lock"});
    return load_message(loader, folder_.path(), "good");
  }
  loader::Manifest manifest() const {
    return loader::discover(loader::search_path_of({folder_.path()})).manifests.at(0);
  }
  Folder folder_;
};

TEST_F(AllowListTest, UnlistedPluginIsRefusedWithTheCommandThatAddsIt) {
  EXPECT_EQ(load(),
            "ZB-LOAD-07: policy 'good' 1.0.0 is refused: it is not in the allow-list $DIR/plugins.lock\n"
            "  file: $DIR/good.so\n"
            "  built for ABI 1.0; this host speaks ABI 1.0\n"
            "  next: if you trust this file, run: zomboss plugins allow $DIR/good.plugin.toml");
}
TEST_F(AllowListTest, AllowedPluginLoadsUntilItChanges) {
  const auto entry = loader::allow_plugin(folder_ / "plugins.lock", manifest());
  ASSERT_TRUE(entry.ok()) << entry.status().message();
  EXPECT_EQ(
      read_file(folder_ / "plugins.lock"),
      "# Plugins that may be loaded, by content. Written by `zomboss plugins allow`.\n\n[[plugin]]\nkind = "
      "\"policy\"\nid = \"good\"\nversion = \"1.0.0\"\nsha256 = \"" +
          entry->sha256 + "\"\n");
  EXPECT_EQ(load(), "loaded");
  std::ofstream(folder_ / "good.so", std::ios::app | std::ios::binary) << "x";
  EXPECT_EQ(load().substr(0, 10), "ZB-LOAD-08");
}
TEST_F(AllowListTest, KeepsOneEntryPerPluginInOrder) {
  loader::AllowList list;
  const std::string hash(64, 'a');
  list.set({Kind::kPolicy, "hill", "1.0.0", hash});
  list.set({Kind::kPolicy, "alpha", "1.0.0", hash});
  list.set({Kind::kTarget, "toy", "1.0.0", hash});
  list.set({Kind::kPolicy, "hill", "2.0.0", hash});
  ASSERT_TRUE(list.write(folder_ / "new/plugins.lock").ok());
  const auto again = loader::AllowList::read(folder_ / "new/plugins.lock");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->entries(), list.entries());
  ASSERT_EQ(list.entries().size(), 3u);
  EXPECT_EQ(list.entries()[0].id, "toy");
  EXPECT_EQ(list.entries()[2].version, "2.0.0");
}
TEST_F(AllowListTest, BrokenListRefusesEverythingAndSaysWhere) {
  folder_.write("plugins.lock",
                "[[plugin]]\nid = \"good\"\nkind = \"policy\"\nversion = \"1.0.0\"\nsha = \"00\"\n");
  EXPECT_EQ(load(),
            "ZB-LOAD-09: the allow-list cannot be read\n"
            "$DIR/plugins.lock:5:1: error: unknown key 'sha'\n"
            "  sha = \"00\"\n"
            "  ^\n"
            "  hint: known keys: kind, id, version, sha256\n"
            "$DIR/plugins.lock:1:1: error: the key 'sha256' is missing\n"
            "  [[plugin]]\n"
            "  ^\n"
            "  hint: add sha256 = \"...\"");
}
TEST_F(AllowListTest, ManifestHashIsCheckedWithoutAList) {
  std::ofstream(folder_ / "good.plugin.toml", std::ios::app)
      << "sha256 = \"" << std::string(64, '0') << "\"\n";
  EXPECT_EQ(load_message(folder_.path(), "good").substr(0, 10), "ZB-LOAD-08");
}

TEST(RefusalCode, IsTheStartOfTheMessage) {
  EXPECT_EQ(loader::refusal_code_of(loader::refuse(loader::Refusal::kNotFound, "x")), "ZB-LOAD-01");
  EXPECT_EQ(loader::refusal_code_of(invalid_argument("other")), "");
  EXPECT_EQ(loader::refusal_code_of({}), "");
}

}  // namespace
}  // namespace zomboss::badplugins
